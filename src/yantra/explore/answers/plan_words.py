"""A plan of a search in words: fields beside the columns, and the command that makes its step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.explore.answers.refine import REFINED
from yantra.explore.closed_form.space import LEFT_OPEN
from yantra.workloads.plan.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from yantra.explore.closed_form.space import PlanSpace
    from yantra.scenario import Collectives

_OF_THE_JOB = ("steps", "lora_rank", "lora_targets", "global_batch", "dtype")
_DECIDE = ("tp", "vpp", "dp", "micro_batch")  # what other fields follow from
_OWN = Plan()
ENDS = ("embedding_as_layer", "loss_as_layer")


def also(plan: Plan, shown: Iterable[str]) -> str:
    told = {*shown, *_OF_THE_JOB, *(ENDS if plan.pp == 1 else ())}
    fields = {name: value for name, value in unusual(plan).items() if name not in told}
    return " ".join(f"{name}={written(value)}" for name, value in fields.items())


def unusual(plan: Plan) -> dict[str, Any]:
    """Return the sizes, and the fields that differ from a plan's own; tp implies sequence
    parallelism.
    """
    sizes = {name: getattr(plan, name) for name in _DECIDE}
    usual = Plan(**sizes)
    return {
        name: value
        for name, value in vars(plan).items()
        if (value != getattr(_OWN, name) if name in sizes else value != getattr(usual, name))
    }


def held(space: PlanSpace) -> tuple[str, ...]:
    moved = [name for name in LEFT_OPEN if getattr(space, name) is None]
    fixed = [
        f"{name} {written(value)}"
        for name, value in space.fixed.items()
        if value is not None and name not in {*REFINED, *moved, *_OF_THE_JOB}
    ]
    return (*fixed, *(f"{name}: {words}" for name, words in space.bounds.items()))


def held_of(collectives: Collectives) -> str:
    if collectives.selection is not None:
        return "collectives: algorithms as the library that was measured chooses"
    own = "as many chunks as are best for each"
    chunks = own if collectives.chunks is None else f"{collectives.chunks} chunks"
    return f"collectives: algorithms of the cluster, {chunks}"


def command_of(model: str, plan: Plan, sequence: int | None = None) -> str:
    words = [f"yantra workload train --model {model}"]
    if sequence is not None:
        words.append(f"--seq {sequence}")
    words += [_flag(name.replace("_", "-"), value) for name, value in unusual(plan).items()]
    return " ".join((*words, "-o step.yw"))


def _flag(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name} {written(value)}"


def written(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
