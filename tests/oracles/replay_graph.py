"""Replays of a replay graph by its rules: slow, without the library's order or grid. `single_slots`
has one CPU, one device compute slot and one collective slot, as ASTRA-sim has per NPU; of the ready
nodes of a slot the one with the smallest id goes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from yantra.tracing.pytorch.graph import GraphNode


def unlimited(nodes: Sequence[GraphNode]) -> dict[int, int]:
    """Return the start of every node, in microseconds."""
    by_id = {node.id: node for node in nodes}
    start: dict[int, int] = {}
    for node in nodes:  # ids come before those that wait for them; checked here
        waits_for = [*node.deps, *([] if node.ctrl is None else [node.ctrl])]
        assert all(other < node.id for other in waits_for), node
        start[node.id] = max((start[other] + by_id[other].dur_us for other in waits_for), default=0)
    return start


def makespan(nodes: Sequence[GraphNode], start: dict[int, int]) -> int:
    return max((start[node.id] + node.dur_us for node in nodes), default=0)


def slot_of(node: GraphNode) -> str:
    if node.device < 0:
        return "cpu"
    return "comm" if node.name.startswith("nccl") else "gpu"


def single_slots(
    nodes: Sequence[GraphNode], slot: Callable[[GraphNode], str] = slot_of
) -> dict[int, int]:
    waiting = {node.id: {*node.deps, *([] if node.ctrl is None else [node.ctrl])} for node in nodes}
    children: dict[int, list[int]] = {node.id: [] for node in nodes}
    for node in nodes:
        for other in waiting[node.id]:
            children[other].append(node.id)
    by_id = {node.id: node for node in nodes}
    name = cache(lambda index: slot(by_id[index]))
    ready = {index for index, others in waiting.items() if not others}
    running: dict[str, tuple[int, int]] = {}  # slot -> end, node
    start: dict[int, int] = {}
    now = 0
    while ready or running:
        for index in sorted(ready):
            if name(index) not in running:
                running[name(index)] = (now + by_id[index].dur_us, index)
                start[index] = now
                ready.discard(index)
        now, _, done = min((end, busy, index) for busy, (end, index) in running.items())
        del running[name(done)]
        for child in children[done]:
            waiting[child].discard(done)
            if not waiting[child]:
                ready.add(child)
    assert len(start) == len(nodes), "some nodes never became ready"
    return start
