"""Layers of each stage as a plan gives them.

A list has one number per stage in the order of the forward pass (pp x vpp), or one per device,
split evenly over its chunks. `first_stage_layers` and `last_stage_layers` fix the end devices; the
others share the rest evenly.

Source: Megatron-LM, `--decoder-first-pipeline-num-layers`, `--decoder-last-pipeline-num-layers` and
`--pipeline-model-parallel-layout` (core/transformer/pipeline_parallel_layer_layout.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from yantra.workloads.plan.plan import Plan


class Unfit(NamedTuple):
    """Why layers cannot be split as a plan says, and the field that says it."""

    field: str
    reason: str


def is_given(plan: Plan) -> bool:
    ends = plan.first_stage_layers or plan.last_stage_layers
    return plan.stage_layers is not None or ends is not None


def shares(plan: Plan, layers: int, devices: Sequence[int]) -> tuple[int, ...] | Unfit | None:
    if not is_given(plan):
        return None
    field = "stage_layers" if plan.stage_layers is not None else _end_of(plan)
    for other in ("first_stage_layers", "last_stage_layers"):
        if plan.stage_layers is not None and getattr(plan, other) is not None:
            return Unfit(other, "stage_layers says it of every stage; give one of the two")
    if plan.embedding_as_layer or plan.loss_as_layer:
        counted = "embedding_as_layer and loss_as_layer make stages even"
        return Unfit(field, f"{counted}; leave them out where stages are given")
    given = plan.stage_layers or _with_ends(plan, layers, devices)
    if isinstance(given, Unfit):
        return given
    if len(given) == plan.pp < len(devices):
        given = _over_chunks(field, given, devices)
        if isinstance(given, Unfit):
            return given
    if len(given) != len(devices):
        chunks = f" (pp x chunks = {len(devices)}, or {plan.pp})" if len(devices) > plan.pp else ""
        return Unfit(field, f"has {len(given)} numbers for {len(devices)} stages{chunks}")
    if sum(given) != layers:
        return Unfit(field, f"{'+'.join(map(str, given))} = {sum(given)}; the model has {layers}")
    if 0 in given[1:-1]:
        return Unfit(field, f"stage {given.index(0, 1)} has no layer; only the ends can have none")
    return given


def _end_of(plan: Plan) -> str:
    return "first_stage_layers" if plan.first_stage_layers is not None else "last_stage_layers"


def _with_ends(plan: Plan, layers: int, devices: Sequence[int]) -> tuple[int, ...] | Unfit:
    field = _end_of(plan)
    if plan.pp == 1:
        return Unfit(field, "one stage has all layers; give pp")
    if list(devices) != [stage % plan.pp for stage in range(len(devices))]:
        return Unfit(field, f"the stages of {plan.schedule} turn; give stage_layers")
    ends = plan.first_stage_layers, plan.last_stage_layers
    others = plan.pp - sum(end is not None for end in ends)
    left = layers - sum(end or 0 for end in ends)
    if left < others or (others and left % others) or (not others and left):
        return Unfit(field, f"leaves {left} of {layers} layers for {others} stages, which must "
                     "share them evenly; give stage_layers")  # fmt: skip
    each = left // others if others else 0
    first, last = (each if end is None else end for end in ends)
    return (first, *([each] * (plan.pp - 2)), last)


def _over_chunks(
    field: str, given: tuple[int, ...], devices: Sequence[int]
) -> tuple[int, ...] | Unfit:
    chunks = len(devices) // len(given)
    for device, count in enumerate(given):
        if count % chunks:
            return Unfit(field, f"{count} layers of device {device} do not make {chunks} chunks; "
                         "give one number for each stage")  # fmt: skip
    return tuple(given[device] // chunks for device in devices)
