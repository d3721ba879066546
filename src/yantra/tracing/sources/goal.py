"""GOAL, the schedules of LogGOPSim and ATLAHS: messages and calculations with their order.

`a irequires b` lets a start once b started: here once all that b waits for has ended.

Source: Hoefler et al., "LogGOPSim" (HPDC 2010); the grammar of its parser.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from yantra.base.errors import TraceError
from yantra.chakra import files
from yantra.chakra.schema import NodeType
from yantra.tracing.sources.schedules import ScheduledJob
from yantra.tracing.sources.work import Part, Work

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_RANKS = re.compile(r"num_ranks\s+(\d+)\Z")
_BEGIN = re.compile(r"rank\s+(\d+)\s*\{\Z")
_LABEL, _OPTIONS = r"(?:(\w+)\s*:\s*)?", r"((?:\s+\w+\s+\d+)*)\Z"
_MESSAGE = re.compile(_LABEL + r"(send|recv)\s+(\d+)b\s+(?:to|from)\s+(\d+)" + _OPTIONS)
_CALC = re.compile(_LABEL + r"calc\s+(\d+)" + _OPTIONS)
_ORDER = re.compile(r"(\w+)\s+(requires|irequires)\s+(\w+)\Z")
_MOST = 1 << 20  # ranks


class _Op(Struct):
    work: Work
    after: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)  # starts after the start of these


def read(path: str) -> ScheduledJob:
    """Read a schedule. Raises TraceError with the line."""
    text = _COMMENT.sub(_newlines, files.load(path).decode(errors="replace"))
    ranks: dict[int, dict[str, _Op]] = {}
    total, rank = -1, -1
    for number, line in enumerate(re.sub(r"([{}])", r"\1\n", text).split("\n"), start=1):
        said = line.strip()
        where = f"{path}: '{said[:60]}'"
        if not said:
            continue
        if found := _RANKS.match(said):
            total = int(found[1])
        elif found := _BEGIN.match(said):
            rank = int(found[1])
            if not 0 <= rank < total <= _MOST:
                raise TraceError(f"{where}: expected a rank below num_ranks, {total}")
            ranks.setdefault(rank, {})
        elif said == "}":
            rank = -1
        elif rank < 0 or not _take(said, ranks[rank], number, total):
            raise TraceError(
                f"{where}: expected num_ranks N, rank R {{, send, recv, calc, requires, irequires "
                "or }, as LogGOPSim's schedules have"
            )
    if rank >= 0:
        raise TraceError(f"{path}: ends within rank {rank}, before its }}; the file is cut")
    if total < 1:
        raise TraceError(f"{path}: no num_ranks; expected a schedule of LogGOPSim (GOAL)")
    works = [_ordered(ranks.get(rank, {}), f"{path}: rank {rank}") for rank in range(total)]
    return ScheduledJob("schedule of LogGOPSim (GOAL)", works, timed=False)


def _newlines(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def _take(said: str, ops: dict[str, _Op], number: int, total: int) -> bool:
    if found := _ORDER.match(said):
        later, how, earlier = found.groups()
        if later not in ops or earlier not in ops:
            return False
        (ops[later].after if how == "requires" else ops[later].beside).append(earlier)
        return True
    if found := _MESSAGE.match(said):
        label, kind, size, peer, rest = found.groups()
        if int(peer) >= total:
            return False
        options = _options(rest)
        type = NodeType.COMM_SEND if kind == "send" else NodeType.COMM_RECV
        part = Part(type, int(size), 0, None, int(peer), options.get("tag", 0) & 0x7FFFFFFF)
        work = Work(f"{kind} {size}b", 0, 0, options.get("cpu", 0), parts=(part,))
    elif found := _CALC.match(said):
        label, length, rest = found.groups()
        work = Work("calc", 0, int(length) * 1000, _options(rest).get("cpu", 0))
    else:
        return False
    key = label or f" {number} {len(ops)}"
    if key in ops:
        return False
    ops[key] = _Op(work)
    return True


def _options(text: str) -> dict[str, int]:
    words = text.split()
    return {name: int(value) for name, value in zip(words[::2], words[1::2], strict=True)}


def _ordered(ops: dict[str, _Op], where: str) -> list[Work]:
    """Works behind all that they wait for. Raises TraceError for a circle."""
    waiting = {label: len(op.after) + len(op.beside) for label, op in ops.items()}
    followers: dict[str, list[str]] = {label: [] for label in ops}
    for label, op in ops.items():
        for earlier in (*op.after, *op.beside):
            followers[earlier].append(label)
    ready = [label for label, number in waiting.items() if not number]
    places: dict[str, int] = {}
    works: list[Work] = []
    for label in ready:  # grows
        op = ops[label]
        deps = [places[earlier] for earlier in op.after]
        deps += [place for earlier in op.beside for place in works[places[earlier]].deps]
        op.work.deps = tuple(dict.fromkeys(deps))
        places[label] = len(works)
        works.append(op.work)
        for later in followers[label]:
            waiting[later] -= 1
            if not waiting[later]:
                ready.append(later)
    if len(works) < len(ops):
        stuck = next(label for label, number in waiting.items() if number)
        raise TraceError(f"{where}: {stuck.strip()} waits for itself, through others")
    return works
