"""A simulator's node log: each node's issue and callback.

ASTRA-sim and Yantra write lines such as

    [time] [workload] [debug] issue,sys->id=0, tick=10, node->id=3, node->name=x, node->type=4

A tick is 1 ns unless set otherwise.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from yantra.base.errors import ConfigError, show
from yantra.base.text import count
from yantra.chakra import files
from yantra.chakra.schema import NODE_TRAITS, NodeType
from yantra.tracing.inspect.timeline.chrome import Span, Timeline

_EVENT = re.compile(rb"^(?:\[[^\]\n]*\]\s*)*(?:issue|callback)\s*,", re.MULTILINE)
_LINE = re.compile(
    r"^(?:\[[^\]]*\]\s*)*(issue|callback)\s*,[^=,]*=\s*([0-9]{1,18})\s*,[^=,]*=\s*([0-9]{1,18})"
    r"\s*,[^=,]*=\s*([0-9]{1,20})\s*,[^=,]*=\s*(.*?)(?:,\s*node->type=\s*([0-9]{1,3}))?\s*$"
)
_LONGEST = 1 << 24  # bytes of a line that may be an event
_NO_EVENT = b"?"
_LANES = {
    type: traits.lane if traits.lane in ("compute", "memory") else "communication"
    for type, traits in NODE_TRAITS.items()
}


class Execution(NamedTuple):
    """A node that ran: ticks of issue and callback, and its line.

    `end` None: no callback. `type` None: not logged.
    """

    rank: int
    node: int
    name: str
    type: int | None
    start: int
    end: int | None
    line: int


def is_log(pieces: Iterable[bytes]) -> bool:
    rest = b""
    for piece in pieces:
        text = rest + piece
        if (b"issue" in text or b"callback" in text) and _EVENT.search(text):
            return True
        line = text.rfind(b"\n", 0, max(0, text.rfind(b"\n")))  # an event may take two lines
        rest = text[line + 1 :] if line >= 0 or len(text) < _LONGEST else _NO_EVENT
    return False


def read_log(path: str | os.PathLike[str]) -> list[Execution]:
    return parse_log(files.load(path), os.fspath(path))


def parse_log(content: bytes, where: str = "log") -> list[Execution]:
    done: list[Execution] = []
    waiting: dict[tuple[int, int], deque[Execution]] = {}
    for number, raw in enumerate(content.split(b"\n"), start=1):
        if not _EVENT.match(raw):
            continue
        text = raw.decode(errors="replace")
        match = _LINE.match(text)
        if match is None:
            problem = "expected issue or callback, then rank, tick, node id and name as x=y"
            raise ConfigError(f"{where}:{number}", f"{problem}, got {show(text)}")
        event, rank, tick, node, name, type = match.groups()
        key, at = (int(rank), int(node)), int(tick)
        if event == "issue":
            kind = None if type is None else int(type)
            issued = Execution(*key, name, kind, at, None, number)
            waiting.setdefault(key, deque()).append(issued)
            continue
        if not waiting.get(key):
            raise ConfigError(
                f"{where}:{number}", f"node {node} of rank {rank} calls back but was not issued"
            )
        issued = waiting[key].popleft()
        if at < issued.start:
            raise ConfigError(
                f"{where}:{number}",
                f"node {node} of rank {rank} calls back at {at}, before its issue at "
                f"{issued.start} (line {issued.line})",
            )
        done.append(issued._replace(end=at))
    if not done and not waiting:
        raise ConfigError(where, "no line has a node's issue or callback")
    return done + [item for items in waiting.values() for item in items]


def log_timeline(executions: Iterable[Execution], *, ticks_per_us: float = 1000.0) -> Timeline:
    """Nodes without callback are left out, with a warning."""
    spans = []
    ranks = set()
    unfinished: list[Execution] = []
    for item in executions:
        ranks.add(item.rank)
        if item.end is None:
            unfinished.append(item)
            continue
        start, duration = item.start / ticks_per_us, (item.end - item.start) / ticks_per_us
        args = {"id": item.node, "start_tick": item.start, "end_tick": item.end}
        spans.append(Span(item.rank, lane_of(item), item.name, start, duration, args))
    warnings = []
    if unfinished:
        first = unfinished[0]
        warnings.append(
            f"{count(len(unfinished), 'node')} never called back, the first is node {first.node} "
            f"{show(first.name)} of rank {first.rank}, issued on line {first.line}"
        )
    processes = {rank: f"rank {rank}" for rank in sorted(ranks)}
    return Timeline(spans, [], processes, warnings)


def lane_of(item: Execution) -> str:
    if item.type is not None:
        return _LANES.get(NodeType(item.type), "other") if item.type in set(NodeType) else "other"
    for type, lane in _LANES.items():
        if f"{type.name}_NODE" in item.name:
            return lane
    return "other"
