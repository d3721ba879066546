"""What is kept of a rank once its trace was checked alone: its communications, by their place in
the order of issue, and what is in no sure order.

Trade-off: a rank's pairs of communications are compared while its trace is here; the few that a
circle of waiting asks for later are read again.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.groups import Declared, declared_groups, used_groups
from yantra.tracing.inspect.repeated import Repeated
from yantra.tracing.inspect.surveyed import Seen
from yantra.tracing.inspect.validate.order import Order
from yantra.tracing.inspect.validate.report import Finding, Report, Severity

_TAGS = 500_000_000  # ASTRA-sim takes tags modulo this
_32_BITS = (1 << 32) - 1


class Communications:
    """Columns of the communications, as those of a trace; `count`: nodes of the trace."""

    def __init__(self, columns: Columns, order: Order) -> None:
        nodes = order.sequence
        self.count = columns.count
        self.id = array("Q", (columns.id[node] for node in nodes))
        self.type = array("B", (columns.type[node] for node in nodes))
        self.start = array("Q", (columns.start[node] for node in nodes))
        self.duration = array("Q", (columns.duration[node] for node in nodes))
        self.comm_type = Repeated(columns.comm_type[node] for node in nodes)
        self.comm_size = Repeated(columns.comm_size[node] for node in nodes)
        self.group = Repeated(columns.group[node] for node in nodes)
        self._involved = Repeated(columns.involved(node) for node in nodes)
        self._names = Repeated(columns.name(node) for node in nodes)
        ends = [columns.integers(name) for name in ("comm_src", "comm_dst", "comm_tag")]
        self.source, self.target, self._tag = (
            Repeated(values[node] for node in nodes) for values in ends
        )

    def involved(self, node: int) -> tuple[int, int]:
        return self._involved[node]

    def name(self, node: int) -> str:
        return self._names[node]

    def label(self, node: int) -> str:
        return f"node {self.id[node]} {self.name(node)!r}"

    def tag(self, node: int) -> int | None:
        """The tag of a message as ASTRA-sim takes it."""
        tag = self._tag[node]
        return None if tag is None else (tag & _32_BITS) % _TAGS


class Lists:
    """Lists of places, 4 bytes each."""

    def __init__(self, lists: Iterable[Sequence[int]]) -> None:
        self._begin, self._places = array("I", [0]), array("I")
        for one in lists:
            self._places.extend(one)
            self._begin.append(len(self._places))

    def __getitem__(self, at: int) -> array[int]:
        if at >= len(self._begin) - 1:
            raise IndexError(at)
        return self._places[self._begin[at] : self._begin[at + 1]]

    def __iter__(self) -> Iterator[array[int]]:
        return (self[at] for at in range(len(self._begin) - 1))


class KeptOrder:
    """As `Order`, by place.

    `direct`: direct dependencies. `undecided`: calls of groups and messages alike whose order is
    not sure. `sure`, `open`: pairs of `SlotOrder` in sure order and in none; `too_many` for that.
    """

    def __init__(self, order: Order, calls: dict[str, array[int]], kept: Communications) -> None:
        self.sequence = range(len(order.sequence))
        place = order.place
        self.direct = Lists([place[other] for other in order.direct[n]] for n in order.sequence)
        self.undecided = {
            tuple(nodes)
            for nodes in (*calls.values(), *_alike(kept))
            if not order.decided([order.sequence[node] for node in nodes])
        }
        sure, undecided, before = order.slots
        self.sure, self.open = (
            Lists([place[node] for node in pair] for pair in pairs) for pairs in (sure, undecided)
        )
        self.too_many = before is None

    def decided(self, nodes: Sequence[int]) -> bool:
        """Whether all calls of a group, or all messages alike, are in a sure order."""
        return tuple(nodes) not in self.undecided


def _alike(kept: Communications) -> Iterable[list[int]]:
    found: dict[tuple[Any, ...], list[int]] = {}
    for node, type in enumerate(kept.type):
        if type != NodeType.COMM_COLL:
            peer = (kept.target if type == NodeType.COMM_SEND else kept.source)[node]
            key = type, peer, kept.tag(node), kept.comm_size[node]
            found.setdefault(key, []).append(node)
    return found.values()


class Whole:
    """A rank while its trace is here, with findings on it alone."""

    def __init__(self, rank: int, columns: Columns, order: Order) -> None:
        self.rank, self.columns, self.order = rank, columns, order
        self.report = Report()
        self.calls: dict[str, list[int]] = {}
        for node in order.sequence:
            if columns.type[node] == NodeType.COMM_COLL:
                self.calls.setdefault(columns.group[node], []).append(node)

    def add_finding(
        self, severity: Severity, code: str, section: str, node: int | None, text: str
    ) -> None:
        id = None if node is None else self.columns.id[node]
        name = "" if node is None else self.columns.name(node)
        self.report.add(Finding(severity, code, section, self.rank, id, name, text))

    def label(self, node: int) -> str:
        return self.columns.label(node)

    def found(self, check: Callable[[Whole], object]) -> list[Finding]:
        """What a check finds."""
        self.report = Report()
        check(self)
        return self.report.findings


class Facts(NamedTuple):
    """A rank's trace; equal files share them.

    `findings`: of the checks of a rank alone, in their order. `nodes`: records of the file.
    `world_sizes`: what it says. `origin_us`: of its clock. `has_starts`: whether it has times.
    """

    findings: list[list[Finding]]
    nodes: int
    world_sizes: set[int]
    declared: list[Declared]
    used: set[str]
    origin_us: int
    has_starts: bool
    columns: Communications
    order: KeptOrder
    calls: dict[str, array[int]]


def facts_of(rank: int, trace: Seen, checks: Sequence[Callable[[Whole], object]]) -> Facts:
    """Check a trace alone, and keep what the checks of the whole job need."""
    columns = Columns(trace)
    order = Order(columns)
    whole = Whole(rank, columns, order)
    findings = [whole.found(check) for check in checks]
    kept = Communications(columns, order)
    calls = {
        name: array("I", (order.place[node] for node in nodes))
        for name, nodes in whole.calls.items()
    }
    return Facts(
        findings,
        len(trace),
        _world_sizes(trace),
        declared_groups(columns),
        used_groups(columns),
        _origin_us(trace),
        any(columns.start),
        kept,
        KeptOrder(order, calls, kept),
        calls,
    )


def _world_sizes(trace: Seen) -> set[int]:
    return {
        item.value
        for item in trace.metadata.attributes
        if item.name == "world_size" and isinstance(item.value, int) and item.value > 0
    }


def _origin_us(trace: Seen) -> int:
    said = {item.name: item.value for item in trace.metadata.attributes}
    parts = [said.get(name, 0) for name in ("base_ns", "origin_ns")]
    return sum(part for part in parts if type(part) is int) // 1000
