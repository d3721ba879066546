"""Bounds of a step: no less than its busiest rank's kernels, no more than all in turn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from yantra.chakra import NodeType, Trace

MOVES = (NodeType.MEM_LOAD, NodeType.MEM_STORE)


class Rates(NamedTuple):
    """Of a device, its memory beyond, and the links: FLOP/ns, bytes/ns, and ns.

    Without FLOP/ns kernels take what was recorded: whole microseconds unless it `reads_ns`.
    """

    flops: float
    memory: float
    beyond: float
    beyond_latency: float
    link: float
    link_latency: float
    hand_over: float
    reads_ns: bool = True


def kernels_ns(trace: Trace, rates: Rates) -> float:
    return sum(
        _kernel_ns(node, rates)
        for node in trace
        if node.type == NodeType.COMP and not node.get("is_cpu_op", False)
    )


def _kernel_ns(node: Any, rates: Rates) -> float:
    if node.duration_micros or not rates.flops:
        exact = node.get("duration_ns") if rates.reads_ns else None
        return float(1000 * node.duration_micros if exact is None else exact)
    return max(node.get("num_ops", 0) / rates.flops, node.get("tensor_size", 0) / rates.memory)


def accesses_ns(trace: Trace, rates: Rates) -> float:
    moved = [node.get("tensor_size", 0) for node in trace if node.type in MOVES]
    return len(moved) * rates.beyond_latency + sum(moved) / rates.beyond


def hold(traces: Iterable[Trace], rates: Rates, outcome: Any, took_ns: float) -> None:
    """Check that a step is between its bounds; times are rounded to whole ns at most."""
    kernels, accesses, nodes = [], 0.0, 0
    for trace in traces:
        kernels.append(kernels_ns(trace, rates))
        accesses += accesses_ns(trace, rates)
        nodes += len(trace)
    messages = outcome.messages
    carried = sum(use.bytes for use in outcome.dimensions)
    each = rates.link_latency + 2 * rates.hand_over
    network = messages * each + carried * (1 / rates.link + 3 / rates.memory)
    rounding = nodes + 2 * messages
    least, most = max(kernels), sum(kernels) + accesses + network
    assert most > 0 or messages == 0  # but for a rank alone whose kernels state no time
    assert least - nodes <= took_ns <= most + rounding, (least, took_ns, most)
