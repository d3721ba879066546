"""Reads an execution plan of MSCCL++ from JSON, strictly: every name has a meaning or is an error.

Switch operations (NVLS multicast: `gstore`, `glre`, `glres`) are refused, as traces have no switch
that adds.

Source: microsoft/mscclpp, `src/core/executor/execution_plan.cc`; its language
(`python/mscclpp/language/program.py`) writes plans.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import lcm
from typing import Any, NamedTuple, NoReturn

from yantra.base.documents import parse_json, read_text
from yantra.base.errors import ConfigError, UnsupportedError, did_you_mean, expected_got
from yantra.base.regular import open_regular
from yantra.collectives.msccl import conditions
from yantra.collectives.msccl.program import Gpu as ProgramGpu
from yantra.collectives.msccl.program import Program
from yantra.collectives.mscclpp.plan import (
    COPIES,
    OTHERS,
    PACKETS_READ,
    SIGNALS,
    SUMS,
    WAITS,
    Channel,
    Gpu,
    Operation,
    Plan,
    Span,
)
from yantra.collectives.mscclpp.rounds import PIPELINE, Loop, chunk_bytes

_HEAD = 4096
_MOST = 1 << 24
_MOST_UNITS = 1 << 12
_SWITCH = (
    "a switch copies or adds here (multicast, NVLS), and traces have sends, receives and "
    "computations of GPUs alone; the algorithms nvls and nvls_tree simulate switches that add"
)
_REFUSED = {
    "gstore": _SWITCH,
    "gstorepkt": _SWITCH,
    "glre": _SWITCH,
    "glres": _SWITCH,
}
_KNOWN = (*COPIES, *SUMS, *sorted(SIGNALS - set(COPIES)), *sorted(WAITS), *sorted(OTHERS))
_UNKNOWN = {"test": "custom", "sendrecv": "custom"}
_REMOTE = ("memory", "port")


def is_plan(path: str | os.PathLike[str]) -> bool:
    try:
        with open_regular(path) as file:
            head: bytes = file.read(_HEAD)
    except OSError:
        return False  # the reader reports it
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def read_plan(
    path: str | os.PathLike[str], size_bytes: int | None = None, collective: str | None = None
) -> Plan:
    """Read the plan in a file. Raises ConfigError with file and place.

    `size_bytes`, the collective's, sets pipelines' rounds; `collective` overrides the file's.
    """
    return parse_plan(read_text(path), os.fspath(path), size_bytes, collective)


def parse_plan(
    text: str, where: str, size_bytes: int | None = None, collective: str | None = None
) -> Plan:
    tree, _ = parse_json(text, where)
    if not isinstance(tree, dict):
        raise ConfigError(where, expected_got("an execution plan of MSCCL++", tree))
    name, called = (_text(tree, key, where) for key in ("name", "collective"))
    in_place = tree.get("inplace")
    if not isinstance(in_place, bool):
        raise ConfigError(f"{where}: inplace", expected_got("true or false", in_place))
    listed = _list(tree, "gpus", where)
    if not listed:
        raise ConfigError(f"{where}: gpus", "expected one GPU at least")
    cut = _cut(listed, where, size_bytes, collective or _UNKNOWN.get(called, called))
    gpus = [_Reader(tree, cut, at, where).gpu() for at, tree in enumerate(listed)]
    plan = Plan(where, name, called, in_place, cut.units, tuple(gpus))
    _check_ends(plan)
    return plan


class _Cut(NamedTuple):
    units: int
    chunk_bytes: int = 0


def _cut(gpus: list[Any], where: str, size_bytes: int | None, collective: str) -> _Cut:
    sizes, loops = {1}, []
    for number, gpu in enumerate(gpus):
        for block_at, block in enumerate(_rows(gpu, "threadblocks")):
            at = f"{where}: gpus[{number}].threadblocks[{block_at}]"
            for op_at, op in enumerate(_rows(block, "ops")):
                if op.get("name") == PIPELINE:
                    loops.append(_loop(op, f"{at}.ops[{op_at}]"))
                for one in (op, *_rows(op, "ops")):
                    group = one.get("tbg_info")
                    size = group.get("tbg_size") if isinstance(group, dict) else None
                    if type(size) is int and 1 <= size <= _MOST_UNITS:
                        sizes.add(size)
    of_chunk = 0
    if loops:
        of_chunk = chunk_bytes(loops[0].where, size_bytes, _chunks(gpus, where, collective))
        sizes |= {loop.parts(of_chunk) for loop in loops}
    units = lcm(*sizes)
    if units > _MOST_UNITS:
        cutting = "units of pipelines and groups" if loops else "groups"
        problem = f"{cutting} of thread blocks cut a chunk into more than {_MOST_UNITS} parts"
        advice = f", of {of_chunk} bytes each; give another --size" if loops else ""
        raise UnsupportedError(f"{where}: {problem}{advice}")
    return _Cut(units, of_chunk)


def _chunks(gpus: list[Any], where: str, collective: str) -> int:
    counts = [
        [_whole(gpu, f"{buffer}_chunks", f"{where}: gpus[{at}]") for buffer in ("input", "output")]
        for at, gpu in enumerate(gpus)
        if isinstance(gpu, dict)
    ]
    made = tuple(ProgramGpu(0, at, ins, outs, 0, ()) for at, (ins, outs) in enumerate(counts))
    program = Program(where, "", "", collective, True, True, 1, made)
    return conditions.data_chunks(program, conditions.collective_of(program, collective))


def _loop(op: Mapping[str, Any], where: str) -> Loop:
    context, at = op.get("iter_context"), f"{where}.iter_context"
    if not isinstance(context, dict):
        raise ConfigError(at, expected_got("unit_size and num_chunks", context))
    loop = Loop(where, _whole(context, "unit_size", at), _whole(context, "num_chunks", at))
    if not loop.unit_bytes or not loop.chunks:
        raise ConfigError(at, expected_got("a unit and chunks of at least 1", context))
    return loop


def _rows(tree: Any, key: str) -> list[dict[str, Any]]:
    found = tree.get(key) if isinstance(tree, dict) else None
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _check_ends(plan: Plan) -> None:
    for gpu in plan.gpus:
        for block in gpu.blocks:
            for op in block:
                peers = [channel.peer for channel in op.channels]
                peers += [span.gpu for span in (*op.reads, *op.writes)]
                for peer in peers:
                    if peer >= len(plan.gpus):
                        ranks = f"0 to {len(plan.gpus) - 1}"
                        raise ConfigError(op.where, expected_got(f"a GPU from {ranks}", peer))


class _Reader:
    def __init__(self, tree: Any, cut: _Cut, number: int, where: str) -> None:
        self.where = f"{where}: gpus[{number}]"
        self.number, self.units, self.chunk_bytes = number, *cut
        if not isinstance(tree, dict):
            raise ConfigError(self.where, expected_got("a GPU", tree))
        self.tree = tree
        if _whole(tree, "id", self.where) != number:
            raise ConfigError(f"{self.where}.id", expected_got(str(number), tree["id"]))
        self.channels = self._channels()
        self.buffers = [
            (_whole(one, "rank", at), _buffer(one, at))
            for one, at in self._each(tree, "remote_buffers", self.where)
        ]

    def gpu(self) -> Gpu:
        inputs, outputs, scratch = (
            _whole(self.tree, f"{buffer}_chunks", self.where)
            for buffer in ("input", "output", "scratch")
        )
        semaphores = [
            _whole(one, "init_value", at)
            for one, at in self._each(self.tree, "semaphores", self.where, optional=True)
        ]
        blocks = [self._block(*one) for one in self._each(self.tree, "threadblocks", self.where)]
        return Gpu(self.number, inputs, outputs, scratch, tuple(semaphores), tuple(blocks))

    def _channels(self) -> dict[str, list[Channel]]:
        found: dict[str, list[Channel]] = {kind: [] for kind in (*_REMOTE, "switch")}
        for one, at in self._each(self.tree, "channels", self.where):
            kind = _one_of(one, "channel_type", at, tuple(found))
            if kind == "switch":
                continue
            count: dict[int, int] = {}
            for channel in found[kind]:
                count[channel.peer] = channel.number + 1
            for peer in _numbers(one, "connected_to", at):
                found[kind].append(Channel(kind, self.number, peer, count.get(peer, 0)))
                count[peer] = count.get(peer, 0) + 1
        return found

    def _block(self, tree: Mapping[str, Any], where: str) -> tuple[Operation, ...]:
        ids: dict[str, list[int]] = {}
        for one, at in self._each(tree, "channels", where):
            kind = _one_of(one, "channel_type", at, (*_REMOTE, "switch"))
            ids.setdefault(kind, []).extend(_numbers(one, "channel_ids", at))
        refs: dict[str, list[int]] = {}
        for one, at in self._each(tree, "remote_buffer_refs", where, optional=True):
            kind = _one_of(one, "access_channel_type", at, _REMOTE)
            refs.setdefault(kind, []).extend(_numbers(one, "remote_buffer_ids", at))
        made: list[Operation] = []
        for op, at in self._each(tree, "ops", where):
            if op.get("name") != PIPELINE:
                made.append(self._operation(op, at, ids, refs))
                continue
            inner = [self._operation(*one, ids, refs) for one in self._each(op, "ops", at)]
            made += _loop(op, at).unroll(inner, self.chunk_bytes, self.units)
        return tuple(made)

    def _operation(
        self,
        op: Mapping[str, Any],
        where: str,
        ids: Mapping[str, list[int]],
        refs: Mapping[str, list[int]],
    ) -> Operation:
        kind = _text(op, "name", where)
        if kind == PIPELINE:
            raise ConfigError(where, "a pipeline in a pipeline; MSCCL++ has none")
        if kind in _REFUSED:
            raise UnsupportedError(f"{where}: {kind}: {_REFUSED[kind]}")
        if kind not in _KNOWN:
            problem = expected_got(f"one of {', '.join(_KNOWN)}", kind)
            raise ConfigError(f"{where}.name", problem + did_you_mean(kind, _KNOWN))
        if "reduce_op" in op:
            _one_of(op, "reduce_op", where, ("sum", "min", "max"))
        if op.get("channel_type", "none") != "none":
            _one_of(op, "channel_type", where, _REMOTE)
        channel_type: str = op.get("channel_type", "none")
        if kind in ("barrier", "sem_acquire", "sem_release"):
            return self._local(op, kind, where)
        channels: tuple[Channel, ...] = ()
        if kind in SIGNALS or kind in WAITS:
            channels = tuple(self._channel(op, at, where, ids) for at in _ids(op, where))
        if kind not in COPIES and kind not in SUMS:
            return Operation(where, kind, channels=channels)
        reads, writes = (
            [
                self._span(one, at, channel_type, refs, _group(op, where))
                for one, at in self._each(op, key, where)
            ]
            for key in ("src_buff", "dst_buff")
        )
        self._check(kind, reads, writes, where)
        if kind in SIGNALS and len(channels) != len(writes):
            raise ConfigError(where, f"{len(writes)} puts on {len(channels)} channels")
        return Operation(where, kind, tuple(reads), tuple(writes), channels)

    def _local(self, op: Mapping[str, Any], kind: str, where: str) -> Operation:
        if kind == "barrier":
            number = _whole(op, "barrier_id", where)
            blocks = _whole(op, "num_threadblocks", where)
            return Operation(where, kind, numbers=(number,), blocks=blocks)
        numbers = _numbers(op, "semaphore_ids", where)
        count = len(_rows(self.tree, "semaphores"))
        for number in numbers:
            if number >= count:
                problem = f"semaphore {number} of {count} of the GPU"
                raise ConfigError(f"{where}.semaphore_ids", problem)
        return Operation(where, kind, numbers=tuple(numbers))

    def _channel(
        self, op: Mapping[str, Any], at: int, where: str, ids: Mapping[str, list[int]]
    ) -> Channel:
        kind = _one_of(op, "channel_type", where, _REMOTE)
        known, of_gpu = ids.get(kind, []), self.channels[kind]
        if at >= len(known) or known[at] >= len(of_gpu):
            problem = f"{kind} channel {at} is none of its thread block's"
            raise ConfigError(f"{where}.channel_ids", problem)
        return of_gpu[known[at]]

    def _span(
        self,
        tree: Mapping[str, Any],
        where: str,
        channel_type: str,
        refs: Mapping[str, list[int]],
        group: tuple[int, int],
    ) -> Span:
        first, size = _whole(tree, "index", where), _whole(tree, "size", where)
        share, of = group
        units = size * self.units // of
        begin = first * self.units + share * units
        if "switch_channel_id" in tree:
            raise UnsupportedError(f"{where}: {_SWITCH}")
        if "buffer_id" not in tree:
            return Span(self.number, _buffer(tree, where), begin, units)
        number = _whole(tree, "buffer_id", where)
        known = refs.get(channel_type, [])
        if number >= len(known) or known[number] >= len(self.buffers):
            problem = f"{channel_type} buffer {number} is none of its thread block's"
            raise ConfigError(f"{where}.buffer_id", problem)
        rank, buffer = self.buffers[known[number]]
        return Span(rank, buffer, begin, units)

    def _check(self, kind: str, reads: list[Span], writes: list[Span], where: str) -> None:
        if not reads or not writes or len({span.size for span in (*reads, *writes)}) > 1:
            raise ConfigError(where, f"{kind}: expected sources and destinations of one size")
        if kind in COPIES and len(reads) not in (1, len(writes)):
            problem = f"{len(reads)} sources for {len(writes)} destinations"
            raise ConfigError(where, f"{kind}: {problem}")
        far = [span for span in reads if span.gpu != self.number]
        if far and kind not in ("get", "rre", "rres"):
            raise ConfigError(where, f"{kind}: reads from GPU {far[0].gpu}; only a get does")
        if kind in PACKETS_READ and all(span.buffer != "s" for span in reads):
            raise ConfigError(where, f"{kind}: packets are read from scratch alone")

    @staticmethod
    def _each(
        tree: Mapping[str, Any], key: str, where: str, *, optional: bool = False
    ) -> list[tuple[dict[str, Any], str]]:
        if optional and key not in tree:
            return []
        rows = _list(tree, key, where)
        for at, row in enumerate(rows):
            if not isinstance(row, dict):
                raise ConfigError(f"{where}.{key}[{at}]", expected_got("a mapping", row))
        return [(row, f"{where}.{key}[{at}]") for at, row in enumerate(rows)]


def _ids(op: Mapping[str, Any], where: str) -> list[int]:
    return _numbers(op, "channel_ids", where)


def _group(op: Mapping[str, Any], where: str) -> tuple[int, int]:
    if "tbg_info" not in op:
        return 0, 1
    info, at = op["tbg_info"], f"{where}.tbg_info"
    if not isinstance(info, dict):
        raise ConfigError(at, expected_got("tb_id and tbg_size", info))
    share, of = _whole(info, "tb_id", at), _whole(info, "tbg_size", at)
    if not 1 <= of <= _MOST_UNITS or share >= of:
        raise ConfigError(at, f"expected a thread block of 1 to {_MOST_UNITS}, got {share} of {of}")
    return share, of


def _list(tree: Mapping[str, Any], key: str, where: str) -> list[Any]:
    found = tree.get(key)
    if not isinstance(found, list):
        _missing(tree, key, where, "a list")
    return found


def _text(tree: Mapping[str, Any], key: str, where: str) -> str:
    found = tree.get(key)
    if not isinstance(found, str):
        _missing(tree, key, where, "a text")
    return found


def _whole(tree: Mapping[str, Any], key: str, where: str) -> int:
    found = tree.get(key)
    if type(found) is not int or not 0 <= found <= _MOST:
        _missing(tree, key, where, f"a whole number from 0 to {_MOST}")
    return found


def _numbers(tree: Mapping[str, Any], key: str, where: str) -> list[int]:
    found = _list(tree, key, where)
    if not all(type(one) is int and 0 <= one <= _MOST for one in found):
        raise ConfigError(f"{where}.{key}", expected_got("whole numbers", found))
    return found


def _one_of(tree: Mapping[str, Any], key: str, where: str, known: tuple[str, ...]) -> str:
    found = _text(tree, key, where)
    if found not in known:
        raise ConfigError(f"{where}.{key}", expected_got(f"one of {', '.join(known)}", found))
    return found


def _buffer(tree: Mapping[str, Any], where: str) -> Any:
    return _one_of(tree, "type", where, ("i", "o", "s"))


def _missing(tree: Mapping[str, Any], key: str, where: str, expected: str) -> NoReturn:
    if key not in tree:
        raise ConfigError(f"{where}.{key}", f"missing; expected {expected}")
    raise ConfigError(f"{where}.{key}", expected_got(expected, tree[key]))
