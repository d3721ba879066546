"""Why a training step does not fit into memory, and which small changes would help: one, then two
at a time, by their usual cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from yantra.base.errors import CapacityError, ConfigError, UnsupportedError
from yantra.base.text import room_text
from yantra.workloads.plan.check import facts_of, problems
from yantra.workloads.plan.plan import Plan
from yantra.workloads.plan.words import difference
from yantra.workloads.training.memory import StageMemory

if TYPE_CHECKING:
    from yantra.workloads.training.train import TrainedModel

_SHOWN = 3


def check_fit(
    model: TrainedModel,
    plan: Plan,
    sequence: int,
    memory: Sequence[StageMemory],
    capacity: int,
    reserve: int = 0,
) -> None:
    """Raise CapacityError if a stage needs more than `capacity - reserve` bytes.

    `sequence` is in tokens; no job gets the `reserve`.
    """
    usable = capacity - reserve
    worst = max(range(len(memory)), key=lambda stage: memory[stage].peak)
    need = memory[worst]
    if need.peak <= usable:
        return
    lines = [
        f"stage {worst} of {len(memory)} needs {_rounded(need.peak)} of "
        f"{_rounded(usable)} per device{_less(capacity, reserve)}:",
        *(f"  {name:12} {_rounded(size)}" for name, size in _parts(need) if size),
    ]
    found = list(_changes(model, plan, sequence, usable))
    lines += [f"  fits with {difference(plan, other)}: {_rounded(peak)}" for other, peak in found]
    if not found:
        lines.append("  no one or two of the usual changes would do; use more ranks per replica")
    raise CapacityError("memory", "\n".join(lines))


def _less(capacity: int, reserve: int) -> str:
    return f" ({room_text(capacity, reserve)})" if reserve else ""


def _parts(memory: StageMemory) -> Iterator[tuple[str, int]]:
    yield "weights", memory.weights
    yield "gradients", memory.gradients
    yield "optimizer", memory.optimizer
    yield "activations", memory.activations
    yield "buffers", memory.buffers


def _changes(
    model: TrainedModel, plan: Plan, sequence: int, capacity: int
) -> Iterator[tuple[Plan, int]]:
    facts = facts_of(model)
    single = list(_single(plan))
    shown = 0
    for count in (1, 2):
        for chosen in combinations(single, count):
            fields = [field for change in chosen for field in change]
            if len(set(fields)) < len(fields):
                continue
            changes = {field: value for change in chosen for field, value in change.items()}
            other = _possible(plan, changes)
            if other is None or any(problems(other, facts, sequence)):
                continue
            peak = _peak(model, other, sequence)
            if peak is not None and peak <= capacity:
                yield other, peak
                shown += 1
                if shown == _SHOWN:
                    return
        if shown:
            return


def _single(plan: Plan) -> Iterator[dict[str, Any]]:
    replicas = plan.dp * plan.cp
    if replicas > 1:
        yield from ({"zero": level} for level in (1, 3) if level > plan.zero)
    if plan.recompute == "none":
        yield {"recompute": "selective"}
    if plan.micro_batch > 1:
        yield {"micro_batch": 1}
    if plan.recompute != "full":
        yield {"recompute": "full"}
    if plan.dp % 2 == 0:
        for axis in ("tp", "pp", "cp"):
            yield {axis: 2 * getattr(plan, axis), "dp": plan.dp // 2}
    if not plan.offload_optimizer:
        yield {"offload_optimizer": True}
    if not plan.offload_activations:
        yield {"offload_activations": True}


def _possible(plan: Plan, changes: dict[str, Any]) -> Plan | None:
    try:
        return plan.replace(**{"global_batch": plan.global_batch, **changes})
    except ConfigError:
        return None


def _peak(model: TrainedModel, plan: Plan, sequence: int) -> int | None:
    from yantra.workloads.training.train import steps_of

    try:
        return max(stage.peak for stage in steps_of(model, plan, sequence)[0].memory)
    except (ConfigError, UnsupportedError):
        return None


def _rounded(size_bytes: int) -> str:
    # how near a limit is counts, not every byte
    for unit, power in (("GiB", 30), ("MiB", 20)):
        if size_bytes >= 1 << power:
            return f"{size_bytes / (1 << power):.2f} {unit}"
    return f"{size_bytes / 1024:.2f} KiB"
