"""One rank of a recorded job as arrays: what ran when, by kind, and its collectives.

Trade-off: nodes without recorded times (made traces) are refused, not simulated.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError
from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import Columns, collective_name
from yantra.tracing.inspect.groups import WORLD, Groups, declared_groups
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.pytorch.balance import ATTRIBUTE, from_text

PARTS = (
    "kernels",
    "communication",
    "memory",
    "host",
    "unexplained_device",
    "unexplained_host",
)
"""Parts of a rank's time; a moment counts for the first that is under way, else as idle. `memory`
is copies and fills."""

_EMPTY = "without a kernel"
_STEP = re.compile(r"ProfilerStep#(\d{1,9})$")
_COPY = re.compile(r"Memcpy|Memset|copy-done")  # so readers name copies and fills
_START, _TOOK = 2, 3  # numbers of columns
_KINDS = {"gpu_compute": 0, "communication": 1, "memory": 2, "cpu": 3}


class Call(NamedTuple):
    """A collective as one rank recorded it; times in ns of the rank's own clock.

    `order`: its place among the group's. `operator`: the innermost operator that launched it.
    """

    group: str
    order: int
    kind: str
    bytes: int
    start_ns: int
    end_ns: int
    kernel: str
    operator: str


class Step(NamedTuple):
    number: int
    start_ns: int
    end_ns: int


class Launches(NamedTuple):
    """When device ops began that share a launch call, and that have none beside recorded host work;
    launch calls without device op.
    """

    of_graphs: tuple[int, ...] = ()
    orphans: tuple[int, ...] = ()
    lost: int = 0


class Work(NamedTuple):
    """What ran: `kind` indexes PARTS, `lane` is a stream or thread, `name` is in `names`."""

    start_ns: Any
    end_ns: Any
    kind: Any
    lane: Any
    name: Any
    names: list[str]


class Rank(NamedTuple):
    """A rank's recording. `begin_ns`, `end_ns`: of all that ran, on its own clock."""

    rank: int
    path: str
    world_size: int
    begin_ns: int
    end_ns: int
    calls: list[Call]
    steps: list[Step]
    work: Work
    groups: Groups
    launches: Launches = Launches()


def ranks_of(traces: Iterator[RankTrace] | Sequence[RankTrace]) -> Iterator[Rank]:
    """Read one rank after the other. Raises ConfigError for a trace without recorded times."""
    for rank, path, trace in traces:
        yield _Reader(rank, path, Columns(trace)).read()


class _Reader:
    def __init__(self, rank: int, path: str, columns: Columns) -> None:
        self.rank = rank
        self.path = path
        self.columns = columns
        about = {one.name: one.value for one in columns.trace.metadata.attributes}
        self.recording = about.get(ATTRIBUTE)
        self.about = {name: value for name, value in about.items() if type(value) is int}
        self.clock = self.about.get("base_ns", 0) + self.about.get("origin_ns", 0)
        every = slice(None)
        self.starts, known = columns.extra.halves(_START, every)
        self.took, _ = columns.extra.halves(_TOOK, every)
        self.is_timed = known != 0

    def read(self) -> Rank:
        columns = self.columns
        timed = np.flatnonzero(self.is_timed).tolist()
        if not timed:
            raise ConfigError(
                self.path,
                "expected recorded times (start_time_ns), got none: this trace was made, not "
                "recorded; yantra run simulates it",
            )
        work = self._work(timed)
        said = self.about.get("rank", self.rank)
        return Rank(
            rank=said,
            path=self.path,
            world_size=max(self.about.get("world_size", 1), said + 1),
            begin_ns=int(work.start_ns.min()),
            end_ns=int(work.end_ns.max()),
            calls=self._calls(),
            steps=self._steps(timed),
            work=work,
            groups={one.name: one.ranks for one in declared_groups(columns) if one.name != WORLD},
            launches=self._launches(),
        )

    def _span(self, node: int) -> tuple[int, int]:
        start = self.clock + int(self.starts[node])
        return start, start + int(self.took[node])

    def _work(self, timed: list[int]) -> Work:
        columns = self.columns
        names: dict[str, int] = {}
        lanes: dict[str, int] = {}
        nodes, kinds, lane, name = (array("q") for _ in range(4))
        for node in timed:
            kind, called = columns.kind[node], columns.name(node)
            at = _KINDS.get(kind)
            if kind == "delay" or _STEP.match(called):
                at = 5 if columns.is_cpu[node] else 4
            elif at == 0 and _COPY.match(called):
                at = 2
            if at is None:
                continue
            nodes.append(node)
            kinds.append(at)
            lane.append(lanes.setdefault(columns.lane[node], len(lanes)))
            name.append(names.setdefault(called, len(names)))
        start = self.clock + self.starts[np.asarray(nodes)]
        end = start + self.took[np.asarray(nodes)]
        kind_, lane_, name_ = map(np.asarray, (kinds, lane, name))
        return Work(start, end, kind_, lane_, name_, list(names))

    def _steps(self, timed: list[int]) -> list[Step]:
        found: dict[int, Step] = {}
        for node in timed:
            mark = _STEP.match(self.columns.name(node))
            if mark:
                start, end = self._span(node)
                before = found.get(int(mark[1]))
                start = start if before is None else min(start, before.start_ns)
                end = end if before is None else max(end, before.end_ns)
                found[int(mark[1])] = Step(int(mark[1]), start, end)
        ordered = sorted(found.values(), key=lambda step: step.start_ns)
        return [
            step._replace(end_ns=max(step.end_ns, after.start_ns) if after else step.end_ns)
            for step, after in zip_longest(ordered, ordered[1:])
        ]

    def _calls(self) -> list[Call]:
        columns = self.columns
        nodes = [
            node
            for node, type in enumerate(columns.type)
            if type == NodeType.COMM_COLL and self.is_timed[node]
        ]
        nodes.sort(key=lambda node: self._span(node))
        seen: Counter[str] = Counter()
        calls = []
        for node in nodes:
            group = columns.group[node]
            calls.append(
                Call(
                    group,
                    seen[group],
                    collective_name(columns.comm_type[node]),
                    columns.comm_size[node] or 0,
                    *self._span(node),
                    columns.name(node),
                    self._operator(node),
                )
            )
            seen[group] += 1
        return calls

    def _launches(self) -> Launches:
        columns = self.columns
        on_device = [
            node
            for node, kind in enumerate(columns.kind)
            if kind in ("gpu_compute", "communication") and not columns.is_cpu[node]
        ]
        attributes = columns.trace.native.attributes
        numbers: list[object] = []
        for node in on_device:
            said = {name: value for name, _, value, _ in attributes(columns.record[node])}
            numbers.append(said.get("correlation") or None)
        times = Counter(numbers)
        begins = [self._span(node)[0] for node in on_device]
        shared = [
            begin
            for begin, number in zip(begins, numbers, strict=True)
            if number is not None and times[number] > 1
        ]
        alone = [
            begin
            for begin, node in zip(begins, on_device, strict=True)
            if not any(columns.is_cpu[parent] for parent in columns.parents(node))
        ]
        has_host = any(
            kind == "cpu" and took
            for kind, took in zip(columns.kind, self.took.tolist(), strict=True)
        )
        lost = 0
        balance = from_text(self.recording)
        if balance is not None:
            lost = balance.launches.parts.get(_EMPTY, 0)
        return Launches(tuple(shared), tuple(alone) if has_host else (), lost)

    def _operator(self, node: int) -> str:
        columns = self.columns
        best = ""
        for parent in columns.parents(node):
            if columns.kind[parent] == "cpu":
                best = columns.name(parent)
        return best
