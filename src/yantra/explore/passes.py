"""Times and bytes of the parts of a model under one split: front, layers, tail.

One entry is for a key (tp, cp, ep, micro-batch, recompute): plans that differ in the rest share it.
A pass is walked operation by operation in the order of its graph, as the simulation runs it:
kernels in one chain, the collectives of a group in another, each after what it needs. A layer takes
what a second one behind a first adds.

Trade-off: layers that differ stand for their mean.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.workloads.training.stage import stage_work

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.workloads.operators.operations import Operation, Pass, StageWork
    from yantra.workloads.plan.plan import Plan

PARTS = ("front", "layer", "tail")


class Part(NamedTuple):
    """One part on one rank: times in ns, elements of weights, bytes of a micro-batch.

    `saves` stays from the forward to the backward pass; `peak` is the most that the backward pass
    has beyond what was saved before it; `border` crosses to the next stage. `kernels` is the
    time of kernels alone, of both passes.
    """

    forward: float
    backward: float
    dense: float
    expert: float
    saves: float
    peak: float
    border: float
    kernels: float


def parts_of(model: Any, plan: Plan, sequence: int, duration: Callable[[Operation], float]) -> Any:
    """Return the parts of a model under a plan, as PARTS has them."""
    kinds = Counter(model.layers)
    total = [0.0] * len(Part._fields)
    for kind, times in kinds.items():
        at = model.layers.index(kind)
        work = stage_work(
            model, plan, layers=(at, at + 1), front=False, tail=False, sequence=sequence
        )
        for place, value in enumerate(_part(work, duration)):
            total[place] += value * times
    layers = sum(kinds.values())
    ends = [
        _part(
            stage_work(
                model,
                plan,
                layers=(number, number),
                front=is_front,
                tail=not is_front,
                sequence=sequence,
            ),
            duration,
        )
        for number, is_front in ((0, True), (layers, False))
    ]
    return ends[0], Part(*(value / layers for value in total)), ends[1]


def _part(work: StageWork, duration: Callable[[Operation], float]) -> Part:
    passes = work.forward, work.backward
    forward, backward = (_steady(one, duration) for one in passes)
    saves = sum(operation.saves for operation in work.forward.operations)
    now = peak = 0
    for operation in work.backward.operations:
        now += operation.saves
        peak = max(peak, now)
        now -= operation.frees
    return Part(
        forward,
        backward,
        sum(weight.elements for weight in work.weights if weight.domain == "dense"),
        sum(weight.elements for weight in work.weights if weight.domain != "dense"),
        saves,
        peak,
        work.output_bytes or work.input_bytes,
        sum(duration(o) for one in passes for o in one.operations if not o.communicates),
    )


def _steady(one: Pass, duration: Callable[[Operation], float]) -> float:
    """Return what a second copy of a pass adds behind a first."""
    if not one.operations:
        return 0.0
    chains: dict[str, float] = {}
    exit_end = 0.0
    spans = []
    entries = frozenset(one.entries)
    for _ in range(2):
        ends: list[float] = []
        for at, operation in enumerate(one.operations):
            chain = operation.group if operation.communicates else ""
            start = max([ends[needed] for needed in operation.after], default=0.0)
            if at in entries:
                start = max(start, exit_end)
            if not operation.peer:
                start = max(start, chains.get(chain, 0.0))
            end = start + duration(operation)
            ends.append(end)
            if not operation.peer:
                chains[chain] = end
        exit_end = ends[one.exit] if one.exit is not None else ends[-1]
        spans.append(max(exit_end, chains.get("", 0.0)))
    return spans[1] - spans[0]
