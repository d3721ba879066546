"""The best plans of a model on a cluster: closed forms judge all, simulation the best.

A kind of plan is its split, micro-batch and recomputation. The fastest kinds are simulated; the
closed form's largest error among them is a band, and kinds within it are simulated too, twelve in
all. Of a small space all plans within the band are simulated, of a large one the nearest few.
"""

from __future__ import annotations

from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import CapacityError
from yantra.base.text import format_bytes, room_text
from yantra.explore.answers.plan_words import held, held_of
from yantra.explore.answers.ranked import Lost, Ranked, rows_by_kind
from yantra.explore.answers.refine import choices_of
from yantra.explore.answers.runner import Runner, Shared
from yantra.explore.answers.sizes import Neighbour, better_neighbours, columns_of, within_node
from yantra.explore.closed_form.closed_form import ClosedForm, Judged
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.on_stack import reserved_on
from yantra.explore.closed_form.space import FIELDS, GRADIENTS, Columns, PlanSpace
from yantra.fabric import clusters
from yantra.fabric.clusters.ownership import Rates
from yantra.fabric.stacks.choice import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yantra.explore.answers.refine import Choices
    from yantra.fabric.clusters.types import Cluster

FULL = "fp32"
_SMALL = 2_000  # plans of a space of which all within the band are simulated
_AMONG = 5  # plans among which one wins, however few are shown
_NEAR = 1.25  # times the memory there is: the most a plan may need to be judged


class Answer(NamedTuple):
    """What a search on one cluster found.

    `judged` of the `legal` plans were timed: those within 1.25 times the memory. `error` is the
    closed form's largest, None if nothing was simulated. `shown` are the fields that identify a
    plan. `neighbours` are other numbers of ranks with a better plan by closed form.
    `full_gradients_ns` is the best time by closed form with gradients of `FULL`, None if none fits.
    `held` names the fields with one value, the bounds of others, and who chooses collectives.
    `reserve` says where `reserve_bytes` is from.
    """

    cluster: str
    capacity_bytes: int
    reserve_bytes: int
    legal: int
    judged: int
    fitting: int
    judged_s: float
    simulated: int
    error: float | None
    ranked: tuple[Ranked, ...]
    lost: tuple[Lost, ...]
    rates: Rates
    shown: tuple[str, ...] = FIELDS
    stack: str = DEFAULT
    model: str = ""
    sequence: int | None = None
    ranks: int = 0
    neighbours: tuple[Neighbour, ...] = ()
    full_gradients_ns: float | None = None
    held: tuple[str, ...] = ()
    reserve: str = ""


def best_plans(
    model: Any,
    cluster: Cluster | str,
    space: PlanSpace,
    *,
    top: int = 5,
    tell: Callable[[str], None] | None = None,
    shared: Shared | None = None,
    stack: str = DEFAULT,
    refined: bool = True,
    others: Mapping[str, tuple[Any, ...]] = MappingProxyType({}),
) -> Answer:
    """Return the best plans of a space on a cluster, fastest first.

    `shared` is from an earlier search for the same model and sequence. If `refined`, simulation
    tries further fields; `others` bounds those in `refine.REFINED`, else schedules are the stack's.

    Raises ConfigError if no plan is legal or the cluster has no such number of ranks, CapacityError
    if none fits.
    """
    machine = cluster if not isinstance(cluster, str) else clusters.load(cluster)
    start = perf_counter()
    space = within_node(space, machine)
    choices, lacks = _choices(space, others, stack)
    shared = shared or Shared(model, space.sequence, space.held)
    every = columns_of(model, machine, space)
    machine = reserved_on(machine, stack, every)
    columns, judged = _judged(model, machine, space, every, shared, stack)
    seconds = perf_counter() - start
    fits = judged.memory_bytes <= machine.usable_bytes
    order = rows_by_kind(columns, judged, fits)
    runner = Runner(model, machine, space, columns, judged, shared, stack, choices)
    found = runner.all_of(order, top, tell, fits, len(every["tp"]) <= _SMALL)
    exact = [one for one in found if not one.not_simulated]
    if refined:
        found = runner.refined(found, fits, tell)
    near_ns = _best_ns(found, judged, fits)
    return Answer(
        cluster=machine.name,
        capacity_bytes=machine.memory_bytes,
        reserve_bytes=machine.reserve_bytes,
        reserve=machine.reserve.source if machine.reserve else "",
        legal=len(every["tp"]),
        judged=len(fits),
        fitting=int(fits.sum()),
        judged_s=seconds,
        simulated=runner.simulated,
        error=max((one.error for one in exact), default=None),
        ranked=runner.with_sure(found[: max(top, _AMONG)])[:top],
        lost=_lost(machine, space, columns, judged, found),
        rates=runner.rates,
        shown=space.shown,
        stack=stack,
        model=model.name,
        sequence=space.sequence,
        ranks=space.ranks,
        neighbours=better_neighbours(model, machine, space, shared.works, stack, near_ns),
        held=(*held(space), *lacks, held_of(runner.parts["collectives"])),
        full_gradients_ns=_full_gradients(columns, judged, fits),
    )


def _choices(
    space: PlanSpace, others: Mapping[str, tuple[Any, ...]], stack: str
) -> tuple[Choices, tuple[str, ...]]:
    """What fields may be, and in words what is left out as the stack's framework lacks it."""
    from yantra.workloads.frameworks import schedules_on  # of many modules

    framework, schedules = schedules_on(stack)
    if not schedules or "schedule" in others:
        return choices_of(space, others), ()
    choices = choices_of(space, {"schedule": schedules, **others})
    return choices, (f"schedules that {framework} lacks",)


def _judged(
    model: Any, machine: Cluster, space: PlanSpace, every: Columns, shared: Shared, stack: str
) -> tuple[Columns, Judged]:
    on = Machine(machine, space.ranks, dtype=space.dtype, stack=stack)
    form = ClosedForm(model, on, space.sequence, shared.works)
    memory = form.memory(every, space.global_batch)
    if memory.min() > machine.usable_bytes:
        raise _none_fits(model, machine, space, every, memory)
    near = memory <= _NEAR * machine.usable_bytes
    columns = {name: column[near] for name, column in every.items()}
    return columns, form.judge(columns, space.global_batch, memory[near])


def _best_ns(found: list[Ranked], judged: Judged, fits: np.ndarray) -> tuple[float, float]:
    first = int(np.argmin(np.where(fits, judged.time_ns, np.inf)))
    return min(found[0].time_ns, float(judged.time_ns[first])), float(judged.kernels_ns[first])


def _full_gradients(columns: Columns, judged: Judged, fits: np.ndarray) -> float | None:
    full = fits & (columns["gradient_dtype"] == GRADIENTS.index(FULL))
    return float(judged.time_ns[full].min()) if full.any() else None


def _lost(
    cluster: Cluster, space: PlanSpace, columns: Columns, judged: Judged, found: list[Ranked]
) -> tuple[Lost, ...]:
    best = min(one.closed_ns for one in found)
    over = (judged.memory_bytes > cluster.usable_bytes) & (judged.time_ns < best)
    if not over.any():
        return ()
    return tuple(
        Lost(
            space.plan(columns, int(row)),
            float(judged.time_ns[row]),
            int(judged.memory_bytes[row] - cluster.usable_bytes),
        )
        for row in rows_by_kind(columns, judged, over)[:3]
    )


def _none_fits(
    model: Any, cluster: Cluster, space: PlanSpace, columns: Columns, memory: np.ndarray
) -> CapacityError:
    row = int(np.argmin(memory))
    plan = space.plan(columns, row)
    need = format_bytes(int(memory[row]))
    has = room_text(cluster.memory_bytes, cluster.reserve_bytes)
    what = f"tp {plan.tp}, pp {plan.pp}, dp {plan.dp}, zero {plan.zero}, {plan.recompute}"
    return CapacityError(
        "memory",
        f"none of {len(memory)} plans of {model.name} on {space.ranks} ranks of "
        f"{cluster.name} fits; the smallest ({what} recomputation) needs {need} of {has} per "
        "device; use more ranks, or devices with more memory",
    )
