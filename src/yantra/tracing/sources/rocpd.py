"""The database of rocprofv3, by the columns that it has: rows with their place, or with a track.

Source: ROCm/rocm-systems, rocpd_tables.sql 3.0.0, 3.0.3 and 4.1.0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from yantra.tracing.sources.tables import Tables, whole

WHAT = "a recording of rocprofv3 (rocpd)"
_PLACE = ("pid", "tid", "agent_id", "stream_id")
_NOT_READ = ("rocpd_memory_allocate", "rocpd_pmc_event", "rocpd_sample")
_COPIES = {"HOST_TO_DEVICE": "HtoD", "DEVICE_TO_HOST": "DtoH", "DEVICE_TO_DEVICE": "DtoD"}
Rows = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], int, dict[str, int]]


def read(path: str) -> Rows:
    """Works and regions as `rocm` takes them, rows that cannot be, rows not read by table."""
    with Tables(path, WHAT) as base:
        return _Reader(base).read()


class _Reader:
    def __init__(self, base: Tables) -> None:
        self.base = base
        self.strings = self._texts("rocpd_string", "string")
        self.tracks: dict[int, tuple[Any, ...]] = {}
        for id, *place in base.rows("rocpd_track", ("id", *_PLACE)):
            self.tracks[whole(id)] = tuple(place)
        self.events: dict[int, tuple[int, int]] = {}  # category, correlation
        for id, category, number in base.rows(
            "rocpd_event", ("id", "category_id", "correlation_id")
        ):
            self.events[whole(id)] = whole(category), whole(number, -1)
        named = base.has("rocpd_info_category", "name")
        self.categories = self._texts("rocpd_info_category", "name") if named else self.strings
        columns = ("id", "type", "type_index", "absolute_index")
        agents = list(base.rows("rocpd_info_agent", columns))
        self.gpus = {whole(row[0]): whole(row[2]) for row in agents if row[1] == "GPU"}
        self.pids = self._numbers("rocpd_info_process", "pid")
        self.tids = self._numbers("rocpd_info_thread", "tid")

    def read(self) -> Rows:
        works = [*self._dispatches(), *self._copies()]
        regions = list(self._regions())
        left_out = {name: self.base.count(name) for name in _NOT_READ}
        return works, regions, self.base.bad, {n: k for n, k in left_out.items() if k}

    def _texts(self, table: str, column: str) -> dict[int, str]:
        return {whole(id): str(text) for id, text in self.base.rows(table, ("id", column))}

    def _numbers(self, table: str, column: str) -> dict[int, int]:
        return {whole(id): whole(number) for id, number in self.base.rows(table, ("id", column))}

    def _rows(self, table: str, *columns: str) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Rows, each with (process, thread, agent, stream) of itself or its track."""
        asked = ("start", "end", "event_id", "track_id", *_PLACE, *columns)
        for start, end, event, track, *rest in self.base.timed(table, asked):
            place = self.tracks.get(whole(track)) if track is not None else tuple(rest[:4])
            process, thread, agent, stream = place or (0, 0, 0, 0)
            _, number = self.events.get(whole(event), (0, -1))
            found = self.pids.get(whole(process), whole(process)), whole(thread), agent, stream
            yield (*found, start, end, number, whole(event)), rest[4:]

    def _dispatches(self) -> Iterator[tuple[Any, ...]]:
        names: dict[int, str] = {}
        for id, shown, name in self.base.rows(
            "rocpd_info_kernel_symbol", ("id", "display_name", "kernel_name")
        ):
            names[whole(id)] = str(shown or name or "kernel").removesuffix(".kd")
        for row, (kernel,) in self._rows("rocpd_kernel_dispatch", "kernel_id"):
            pid, _, agent, stream, start, end, number, _ = row
            device = self.gpus.get(whole(agent), whole(agent))
            name = names.get(whole(kernel), "kernel")
            yield pid, device, whole(stream), start, end, name, number, "kernel", None

    def _copies(self) -> Iterator[tuple[Any, ...]]:
        columns = ("src_agent_id", "dst_agent_id", "size", "name_id")
        for row, (source, target, size, name) in self._rows("rocpd_memory_copy", *columns):
            pid, _, _, stream, start, end, number, _ = row
            gpus = [self.gpus[id] for id in (target, source) if id in self.gpus]
            said = self.strings.get(whole(name), "")
            kind = next((short for long, short in _COPIES.items() if long in said), said)
            device = gpus[0] if gpus else 0
            place = pid, device, whole(stream), start, end
            yield (*place, f"Memcpy {kind}", number, "gpu_memcpy", whole(size))

    def _regions(self) -> Iterator[tuple[Any, ...]]:
        arguments: defaultdict[int, dict[str, str]] = defaultdict(dict)
        for event, name, value in self.base.rows("rocpd_arg", ("event_id", "name", "value")):
            arguments[whole(event)][str(name)] = str(value)
        for row, (name,) in self._rows("rocpd_region", "name_id"):
            pid, thread, _, _, start, end, number, event = row
            category, _ = self.events.get(event, (0, -1))
            said = self.categories.get(category, "")
            place = pid, self.tids.get(thread, thread), start, end
            yield (
                *place,
                self.strings.get(whole(name), ""),
                said,
                number,
                arguments.get(event, {}),
            )
