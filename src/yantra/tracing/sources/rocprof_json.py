"""The JSON of rocprofv3 (rocprofiler-sdk).

Source: ROCm/rocm-systems, rocprofiler-sdk's JSON output; a file of 2025.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct, field

from yantra.base.errors import TraceError
from yantra.chakra import files
from yantra.tracing.sources.rocpd import Rows

_WHAT = "JSON of rocprofv3 (rocprofiler-sdk-tool)"
_GPU = 2
_LARGEST = 1 << 62
_READ = frozenset({"kernel_dispatch", "memory_copy"})
_APIS = {
    "hip_api": "HIP_RUNTIME_API",
    "hsa_api": "HSA_CORE_API",
    "marker_api": "MARKER_CORE_RANGE_API",
    "rccl_api": "RCCL_API",
}


class _Handle(Struct):
    handle: int = 0


class _Number(Struct):
    internal: int = -1


class _Dispatch(Struct):
    agent_id: _Handle = field(default_factory=_Handle)
    kernel_id: int = 0


class _Record(Struct):
    start_timestamp: Any = None
    end_timestamp: Any = None
    correlation_id: _Number = field(default_factory=_Number)
    thread_id: int = 0
    kind: int = 0
    operation: int = 0
    stream_id: _Handle = field(default_factory=_Handle)
    dispatch_info: _Dispatch = field(default_factory=_Dispatch)
    src_agent_id: _Handle = field(default_factory=_Handle)
    dst_agent_id: _Handle = field(default_factory=_Handle)
    bytes: int = 0
    args: Any = None


class _Agent(Struct):
    id: _Handle = field(default_factory=_Handle)
    type: int = 0


class _Symbol(Struct):
    kernel_id: int = 0
    formatted_kernel_name: str = ""
    kernel_name: str = ""


class _Operations(Struct):
    kind: str = ""
    operations: list[str] = field(default_factory=list)


class _Text(Struct):
    key: int = 0
    value: str = ""


class _Strings(Struct):
    buffer_records: list[_Operations] = field(default_factory=list)
    marker_api: list[_Text] = field(default_factory=list)


class _Metadata(Struct):
    pid: int = 0


class _Tool(Struct):
    metadata: _Metadata = field(default_factory=_Metadata)
    agents: list[_Agent] = field(default_factory=list)
    kernel_symbols: list[_Symbol] = field(default_factory=list)
    strings: _Strings = field(default_factory=_Strings)
    buffer_records: dict[str, list[_Record] | None] = field(default_factory=dict)


class _File(Struct):
    tools: list[_Tool] = field(name="rocprofiler-sdk-tool", default_factory=list)


def read(path: str) -> Rows:
    """As `rocpd.read`. Raises TraceError."""
    try:
        file = msgspec.json.decode(files.load(path), type=_File, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise TraceError(f"{path}: {error}; expected {_WHAT}") from None
    works: list[tuple[Any, ...]] = []
    regions: list[tuple[Any, ...]] = []
    left_out: dict[str, int] = {}
    bad = 0
    for tool in file.tools:
        reader = _Reader(tool)
        works += reader.works()
        regions += reader.regions()
        bad += reader.bad
        for name, made in tool.buffer_records.items():
            if made and name not in _READ and name not in _APIS:
                left_out[name] = left_out.get(name, 0) + len(made)
    return works, regions, bad, left_out


class _Reader:
    def __init__(self, tool: _Tool) -> None:
        self.tool = tool
        self.pid = tool.metadata.pid
        gpus = [agent for agent in tool.agents if agent.type == _GPU]
        self.gpus = {agent.id.handle: number for number, agent in enumerate(gpus)}
        self.bad = 0

    def _records(self, name: str) -> Iterator[tuple[_Record, int, int]]:
        for record in self.tool.buffer_records.get(name) or ():
            start, end = record.start_timestamp, record.end_timestamp
            if type(start) is int and type(end) is int and -_LARGEST < start <= end < _LARGEST:
                yield record, start, end
            else:
                self.bad += 1

    def works(self) -> Iterator[tuple[Any, ...]]:
        names = {
            one.kernel_id: (one.formatted_kernel_name or one.kernel_name).removesuffix(".kd")
            for one in self.tool.kernel_symbols
        }
        for record, start, end in self._records("kernel_dispatch"):
            info = record.dispatch_info
            device = self.gpus.get(info.agent_id.handle, 0)
            name = names.get(info.kernel_id) or "kernel"
            number = record.correlation_id.internal
            place = self.pid, device, record.stream_id.handle
            yield (*place, start, end, name, number, "kernel", None)
        for record, start, end in self._records("memory_copy"):
            ends = record.src_agent_id.handle, record.dst_agent_id.handle
            device = next((self.gpus[id] for id in reversed(ends) if id in self.gpus), 0)
            kind = "to".join("D" if id in self.gpus else "H" for id in ends)
            number = record.correlation_id.internal
            place = self.pid, device, record.stream_id.handle
            yield (*place, start, end, f"Memcpy {kind}", number, "gpu_memcpy", record.bytes)

    def regions(self) -> Iterator[tuple[Any, ...]]:
        kinds = self.tool.strings.buffer_records
        marks = {text.key: text.value for text in self.tool.strings.marker_api}
        for list_name, category in _APIS.items():
            for record, start, end in self._records(list_name):
                known = kinds[record.kind].operations if record.kind < len(kinds) else []
                number = record.correlation_id.internal
                name = known[record.operation] if record.operation < len(known) else list_name
                if list_name == "marker_api":
                    name = marks.get(number, name)
                place = self.pid, record.thread_id, start, end
                yield (*place, name, category, number, _arguments(record.args))


def _arguments(given: Any) -> dict[str, str]:
    if isinstance(given, dict):
        return {str(name): str(value) for name, value in given.items()}
    if not isinstance(given, list):
        return {}
    pairs = (one for one in given if isinstance(one, dict) and {"name", "value"} <= one.keys())
    return {str(one["name"]): str(one["value"]) for one in pairs}
