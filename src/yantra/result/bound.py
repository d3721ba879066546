"""What bounds a run: one word, and the sentence that proves it.

The rank that finishes last is looked at (the lowest of several). Its time is split into compute,
exposed communication, exposed memory, exposed host work and idle; the largest part decides.

1. compute, memory, host: that part is the bound.
2. exposed communication or idle:
   network   if the dimensions' `busy` shares add up to half of the run or more: bytes fill the
             links. The busiest dimension is named.
   waiting   else, if for half of the run or more some rank computes: this one waits for others
             (a pipeline's bubble, uneven work).
   latency   else: hops, hand-overs, local reductions and dependencies between messages. Idle time
             is named as such.

These rules name the largest cause and no more: removing it need not shorten the run by its share.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra import _core
from yantra.compile import Model
from yantra.result.network import DimensionUse
from yantra.result.tables import NEVER, NODE_TYPES, PARTS, breakdown

_HALF = 0.5
_COMPUTE_NODE = NODE_TYPES.index("COMP")
_NAMES = {
    "compute": "compute",
    "exposed_communication": "communication",
    "exposed_memory": "remote memory",
    "exposed_host": "host work",
    "waiting": "waiting for messages",
    "idle": "idle time",
}


class Bound(NamedTuple):
    """`kind` is compute, memory, host, network, waiting or latency; `text` says why."""

    kind: str
    text: str


def bound_by(model: Model, outcome: _core.Outcome, uses: list[DimensionUse]) -> Bound:
    """Return what bounds the run, by the rules of this module."""
    finish = outcome.finish
    makespan = max(finish)
    if makespan == 0:
        return Bound("latency", "bound by nothing: the run takes no time")
    last = next(rank for rank, at in enumerate(finish) if at == makespan)
    parts = breakdown(model, outcome, last)
    largest = max(range(len(PARTS)), key=lambda index: parts[index])
    part = PARTS[largest]
    head = f"{_NAMES[part]} is {_percent(parts[largest] / makespan)} of rank {last}'s time"
    if part in ("compute", "exposed_memory", "exposed_host"):
        return Bound(part.removeprefix("exposed_"), f"bound by {_NAMES[part]}: {head}")
    return _without_own_work(model, outcome, uses, makespan, head)


def _without_own_work(
    model: Model, outcome: _core.Outcome, uses: list[DimensionUse], makespan: int, head: str
) -> Bound:
    busiest = max(uses, key=lambda use: use.busy)
    if sum(use.busy for use in uses) >= _HALF:
        text = f"{busiest.label} is busy {_percent(busiest.busy)}; {head}"
        return Bound("network", f"bound by the network: {text}")
    computing = _some_rank_computes(model, outcome) / makespan
    if computing >= _HALF:
        text = f"{head}, while some rank computes {_percent(computing)} of it"
        return Bound("waiting", f"bound by waiting for other ranks: {text}")
    text = f"{head}, yet {busiest.label}, the busiest, is busy only {_percent(busiest.busy)}"
    return Bound("latency", f"bound by latency, hand-overs and reductions: {text}")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _some_rank_computes(model: Model, outcome: _core.Outcome) -> int:
    """Return for how many ticks at least one device computes."""
    starts, ends = outcome.start, outcome.end
    kernels = [_kernels(graph) for graph in model.graphs.distinct]
    blocks = dict.fromkeys(zip(model.graphs.by_rank, outcome.first_node, strict=False))
    intervals = [
        (starts[first + node], ends[first + node])
        for at, first in blocks
        for node in kernels[at]
        if ends[first + node] != NEVER
    ]
    return union_length(intervals)


def _kernels(graph: _core.Graph) -> list[int]:
    """Return the nodes of a graph that compute on the device."""
    kinds, on_cpu = graph.is_cpu_op.kind, graph.is_cpu_op.value
    integer = _core.IntColumn.Kind.INTEGER.value

    def is_host(node: int) -> bool:
        return len(kinds) > 0 and kinds[node] == integer and on_cpu[node] != 0

    return [
        node
        for node, node_type in enumerate(graph.type)
        if node_type == _COMPUTE_NODE and not is_host(node)
    ]


def union_length(intervals: list[tuple[int, int]]) -> int:
    """Return the length of the union of closed intervals."""
    total = until = 0
    for start, end in sorted(intervals):
        total += max(end, until) - max(start, until)
        until = max(end, until)
    return total
