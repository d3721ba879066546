"""One order of a rank's collectives, the same on all ranks of a group.

Trade-off: computations count their operations, communication takes no time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heapify, heappop, heappush

from yantra.base.errors import ConfigError
from yantra.workloads.importers.stg.nodes import Step

Stages = Mapping[int, Sequence[Step]]


def order(stages: Stages, operations: Callable[[Step], int]) -> dict[int, list[Step]]:
    """`operations` says how long a step occupies its stage; 0 for communication."""
    everything = {step.id: (stage, step) for stage, steps in stages.items() for step in steps}
    parents = _parents(everything)
    missing = {id: len(waited) for id, waited in parents.items()}
    children: dict[int, list[int]] = {id: [] for id in everything}
    for id, waited in parents.items():
        for parent in waited:
            children[parent].append(id)
    ready = {stage: [s.id for s in steps if not missing[s.id]] for stage, steps in stages.items()}
    for heap in ready.values():
        heapify(heap)
    done: dict[int, list[Step]] = {stage: [] for stage in stages}
    free = dict.fromkeys(stages, 0)
    clocks = [(0, stage) for stage, heap in ready.items() if heap]
    heapify(clocks)
    while clocks:
        now, stage = heappop(clocks)
        step = everything[heappop(ready[stage])][1]
        done[stage].append(step)
        free[stage] = later = now + operations(step)
        for child in children[step.id]:
            missing[child] -= 1
            if not missing[child]:
                home = everything[child][0]
                if not ready[home] and home != stage:
                    heappush(clocks, (max(later, free[home]), home))
                heappush(ready[home], child)
        if ready[stage]:
            heappush(clocks, (later, stage))
    for id, count in missing.items():
        if count:
            name = everything[id][1].tensor.name
            raise ConfigError(name, "waits for itself: the links make a circle")
    return done


def _parents(everything: Mapping[int, tuple[int, Step]]) -> dict[int, set[int]]:
    sends = {step.tag: id for id, (_, step) in everything.items() if step.is_send}
    parents = {id: set(step.after) for id, (_, step) in everything.items()}
    for id, (_, step) in everything.items():
        if step.peer is not None and not step.is_send:
            parents[id].add(sends[step.tag])
    return parents
