"""What each pass of a rank's trace computes and communicates, and how much of a call is beside
work.

A place is the nominal time of the computations before it; a call needs the last that it depends on
and gives to the first that depends on it. Trade-off: several streams are one line.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.chakra.schema import Node, NodeType
from yantra.chakra.trace import Trace

FORWARD, BACKWARD, END = "F", "B", "E"
START, LATE = "start", "late"
"""Calls made once: before a place in the first pass, from one in the last."""

FLOPS, BYTES_PER_S = 250e12, 2e12
"""The nominal machine of places."""

DENSE = FLOPS / BYTES_PER_S
"""Operations a byte from which a computation counts as dense: where the nominal machine turns."""

_NUMBER = re.compile(r"\d+")
_NAMES = ("ops", "bytes", "light", "light_ops", "ns")
_BESIDE = 1e-6  # of a pass: what is less is none
_ALIKE = 4  # times the operations a byte of another, of operators that are of one kind


class Call(NamedTuple):
    """When, number of the type, axes joined by '+' ('ends:': of a pipeline's), beside work?"""

    when: str
    type: int
    axes: str
    beside: bool

    @property
    def word(self) -> str:
        """As a key of a file."""
        return f"{self.when} {self.type} {self.axes} {'beside' if self.beside else 'between'}"


class Used(NamedTuple):
    """Calls of a kind in a pass: number, bytes; means over bytes of the share of the pass beside
    one, of its place, and of how many of the update it follows without work between.
    """

    calls: float
    size: float
    beside: float
    place: float
    after: float


class Passes(NamedTuple):
    """Of one micro-batch: work by pass and name, calls, bytes of messages by pass. `kinds`:
    operations and bytes by pass and kind of operator; `rows`: classes and calls of the first pass,
    with sizes, in order.
    """

    work: dict[str, dict[str, float]]
    kinds: dict[str, dict[str, tuple[float, float]]]
    calls: dict[Call, Used]
    messages: dict[str, float]
    rows: dict[str, list[tuple[str, float]]]


class _Span(NamedTuple):
    begin: float
    end: float


class _Made(NamedTuple):
    at: int
    pass_of: tuple[str, int]
    type: int
    axes: str
    size: int
    need: float
    give: float
    after: int


def passes_of(trace: Trace, axes_of: Callable[[Node], str], where: str) -> Passes:
    """Measure a template or a rank's trace; `axes_of`: of a call's group."""
    nodes = list(trace)
    pass_of = _by_node(nodes, where)
    place, lane = _places(nodes, pass_of)
    calls = _calls(nodes, pass_of, place, axes_of)
    counted = Counter(kind for kind, _ in lane)
    work: dict[str, dict[str, float]] = {}
    for node, of in zip(nodes, pass_of, strict=True):
        if node.type == NodeType.COMP:
            sums = work.setdefault(of[0], dict.fromkeys(_NAMES, 0.0))
            for name, value in _amounts(node).items():
                sums[name] += value / counted[of[0]]
    messages: dict[str, float] = {}
    for node, of in zip(nodes, pass_of, strict=True):
        if node.type == NodeType.COMM_SEND:
            messages[of[0]] = max(messages.get(of[0], 0.0), float(_whole(node, "comm_size")))
    used, keys = _summed(calls, lane)
    kinds = _kinds(nodes, pass_of, counted)
    return Passes(work, kinds, used, messages, _rows(nodes, pass_of, keys))


def _kinds(
    nodes: list[Node], pass_of: list[tuple[str, int]], counted: Mapping[str, int]
) -> dict[str, dict[str, tuple[float, float]]]:
    """A kind is a name without numbers, but where its operators are not alike."""
    named: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for node, (kind, _) in zip(nodes, pass_of, strict=True):
        if node.type == NodeType.COMP:
            amounts = _whole(node, "num_ops"), _whole(node, "tensor_size")
            named[kind, _NUMBER.sub("", node.name)].append(amounts)
    found: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for (kind, name), some in named.items():
        dense = [ops / max(moved, 1) for ops, moved in some]
        is_one = max(dense) <= _ALIKE * min(dense)
        for ops, moved in some:
            part = name if is_one else f"{name} {ops >= DENSE * moved}"
            before = found[kind].get(part, (0.0, 0.0))
            found[kind][part] = before[0] + ops / counted[kind], before[1] + moved / counted[kind]
    return dict(found)


def _rows(
    nodes: list[Node], pass_of: list[tuple[str, int]], keys: Mapping[int, Call]
) -> dict[str, list[tuple[str, float]]]:
    rows: dict[str, list[tuple[str, float]]] = {}
    for at, (node, (kind, batch)) in enumerate(zip(nodes, pass_of, strict=True)):
        if batch == 0 and node.type == NodeType.COMP:
            amounts = _amounts(node)
            name = "ns" if amounts["ns"] else next(iter(amounts))
            rows.setdefault(kind, []).append((name, float(amounts[name])))
        elif batch == 0 and at in keys and keys[at].when == kind:
            rows.setdefault(kind, []).append((keys[at].word, float(_whole(node, "comm_size"))))
    return rows


def _by_node(nodes: Iterable[Node], where: str) -> list[tuple[str, int]]:
    """The pass of each node: a kind and a micro-batch."""
    found = []
    for node in nodes:
        if node.type not in (
            NodeType.COMP,
            NodeType.COMM_COLL,
            NodeType.COMM_SEND,
            NodeType.COMM_RECV,
        ):
            raise UnsupportedError(
                f"{where}: node {node.id} is an access to memory, for which there is no rule; "
                "leave the job out"
            )
        batch, phase = node.get("microbatch"), node.get("phase")
        if isinstance(batch, int):
            found.append((FORWARD if phase == "forward" else BACKWARD, batch))
        else:
            found.append((FORWARD, 0) if phase is None else (END, 0))
    return found


def _amounts(node: Node) -> dict[str, float]:
    exact = node.get("duration_ns")
    took = float(exact) if isinstance(exact, int) else node.duration_micros * 1000.0
    ops, moved = _whole(node, "num_ops"), _whole(node, "tensor_size")
    if ops >= DENSE * moved:
        return {"ops": ops, "bytes": moved, "ns": took}
    return {"light": moved, "light_ops": ops, "ns": took}


def nominal(amounts: Mapping[str, float]) -> float:
    """The nominal time of amounts of work, in ns."""
    if amounts.get("ns"):
        return amounts["ns"]
    dense = max(amounts.get("ops", 0) / FLOPS, amounts.get("bytes", 0) / BYTES_PER_S)
    light = max(amounts.get("light_ops", 0) / FLOPS, amounts.get("light", 0) / BYTES_PER_S)
    return (dense + light) * 1e9


def _whole(node: Node, name: str) -> int:
    value = node.get(name)
    return value if isinstance(value, int) else 0


def _places(
    nodes: list[Node], pass_of: list[tuple[str, int]]
) -> tuple[list[_Span], dict[tuple[str, int], _Span]]:
    """Each node's own span of the lane, empty for communication, and that of each pass."""
    at = 0.0
    places = []
    lane: dict[tuple[str, int], _Span] = {}
    for node, of in zip(nodes, pass_of, strict=True):
        end = at + (nominal(_amounts(node)) if node.type == NodeType.COMP else 0.0)
        places.append(_Span(at, end))
        if node.type == NodeType.COMP:
            lane[of] = _Span(lane[of].begin if of in lane else at, end)
        at = end
    return places, lane


def _calls(
    nodes: list[Node],
    pass_of: list[tuple[str, int]],
    place: list[_Span],
    axes_of: Callable[[Node], str],
) -> list[_Made]:
    where = {node.id: at for at, node in enumerate(nodes)}
    need, give, after = [0.0] * len(nodes), [float("inf")] * len(nodes), [0] * len(nodes)
    is_late = [
        node.type == NodeType.COMM_COLL and kind == END
        for node, (kind, _) in zip(nodes, pass_of, strict=True)
    ]
    parents = [[where[n] for n in (*node.data_deps, *node.ctrl_deps)] for node in nodes]
    for at, node in enumerate(nodes):
        ready = max((need[n] for n in parents[at]), default=0.0)
        need[at] = place[at].end if node.type == NodeType.COMP else ready
        if is_late[at]:
            after[at] = max((after[n] + 1 for n in parents[at] if is_late[n]), default=0)
    for at in range(len(nodes) - 1, -1, -1):
        begins = place[at].begin if nodes[at].type == NodeType.COMP else give[at]
        for parent in parents[at]:
            if nodes[parent].type != NodeType.COMP:
                give[parent] = min(give[parent], begins)
    return [
        _Made(at, pass_of[at], _whole(node, "comm_type"), axes_of(node), _whole(node, "comm_size"),
              need[at], give[at], after[at])
        for at, node in enumerate(nodes)
        if node.type == NodeType.COMM_COLL
    ]  # fmt: skip


def _summed(
    calls: list[_Made], lane: Mapping[tuple[str, int], _Span]
) -> tuple[dict[Call, Used], dict[int, Call]]:
    kinds: dict[tuple[str, int, str], dict[int, list[_Made]]] = {}
    for call in calls:
        by_batch = kinds.setdefault((call.pass_of[0], call.type, call.axes), {})
        by_batch.setdefault(call.pass_of[1], []).append(call)
    batches = {kind: {n for k, n in lane if k == kind} for kind in (FORWARD, BACKWARD, END)}
    found: dict[Call, list[tuple[float, float, float, int]]] = defaultdict(list)
    counted: dict[Call, int] = {}
    keys: dict[int, Call] = {}
    for (kind, type, axes), by_batch in kinds.items():
        once = kind != END and (
            set(by_batch) < batches[kind]
            or (len(batches[kind]) == 1 and "dp" in axes and len(kinds) > 1)
        )
        for one in (one for made in by_batch.values() for one in made):
            span = lane.get(one.pass_of, _Span(0.0, 0.0))
            length = (span.end - span.begin) or 1.0
            first = min(max((one.need - span.begin) / length, 0.0), 1.0)
            last = min(max((one.give - span.begin) / length, first), 1.0)
            if once:
                key = Call(START if kind == FORWARD else LATE, type, axes, True)
                found[key].append((one.size, 0.0, last if kind == FORWARD else first, 0))
            else:
                key = Call(kind, type, axes, last - first > _BESIDE)
                found[key].append((one.size, last - first, first, one.after))
            counted[key] = 1 if once else max(len(batches[kind]), 1)
            keys[one.at] = key
    used = {
        call: Used(
            len(some) / counted[call],
            sum(one[0] for one in some) / counted[call],
            *(
                sum(one[at] * (one[0] + 1) for one in some) / sum(one[0] + 1 for one in some)
                for at in (1, 2, 3)
            ),
        )
        for call, some in found.items()
    }
    return used, keys
