"""Layers of each stage as a plan gives them, in numbers or in Megatron-LM's layout.

A list has one number for each stage in the order of the forward pass (pp x vpp of them), or one for
each device, which its chunks then share evenly. `first_stage_layers` and `last_stage_layers` fix
the devices at the ends; the others share what is left evenly. A layout names what each stage has,
`E` the embedding, `t` a layer, `L` the head with the loss: `Et*5|(t*8|)*3L`.

Trade-off: the embedding is on the first stage and the head on the last, as everywhere here; a
layout that puts them elsewhere, or layers of multi-token prediction on stages of their own, is
refused.

Source: Megatron-LM, `--decoder-first-pipeline-num-layers`, `--decoder-last-pipeline-num-layers` and
`--pipeline-model-parallel-layout` (core/transformer/pipeline_parallel_layer_layout.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import ConfigError, expected_got, show

if TYPE_CHECKING:
    from yantra.workloads.plan.plan import Plan

_MOST = 1 << 16
_NUMBERS = re.compile(r"\s*\d+\s*(,\s*\d+\s*)*")
_REPEATED = re.compile(r"\(([^()]*)\)\*(\d+)|([^()*])\*(\d+)")


class Unfit(NamedTuple):
    """Why the layers of a model cannot be split as a plan says, and the field that says it."""

    field: str
    reason: str


def layers_of(value: Any, field: str = "stage_layers") -> tuple[int, ...]:
    """Return the layers of each stage: from numbers, a text of numbers, or Megatron-LM's layout.

    Raises ConfigError.
    """
    if isinstance(value, str):
        if not _NUMBERS.fullmatch(value):
            return _of_layout(value, field)
        value = [int(number) if len(number) < 12 else -1 for number in value.split(",")]
    whole = isinstance(value, list | tuple) and all(type(one) is int and one >= 0 for one in value)
    if not whole or not value or sum(value) > _MOST:
        expected = "the layers of each stage, such as 6,9,9,6, or a layout such as Et*6|t*9|t*6L"
        raise ConfigError(field, expected_got(expected, value))
    return tuple(value)


def _of_layout(text: str, field: str) -> tuple[int, ...]:
    stages = _unrolled(text, field).split("|")
    for at, stage in enumerate(stages):
        strange = set(stage) - set("EtL")
        if "m" in strange:
            raise ConfigError(field, f"{show(text)} places layers of multi-token prediction (m); "
                              "they stay with the head here; leave the layout out")  # fmt: skip
        if strange:
            known = "E, t, L, | between stages, ( )*n"
            raise ConfigError(field, f"{expected_got(known, ''.join(sorted(strange)))}")
        ends = ("E" in stage) == (at == 0) and ("L" in stage) == (at == len(stages) - 1)
        in_order = re.fullmatch("E?t*L?", stage)
        if not ends or not in_order:
            problem = "E must be first on the first stage and L last on the last"
            raise ConfigError(field, f"stage {at} of {show(text)} is {show(stage)}; {problem}")
    return tuple(stage.count("t") for stage in stages)


def _unrolled(text: str, field: str) -> str:
    """Return a layout without commas and repetitions."""
    plain = re.sub(r"[\s,]", "", text)
    while found := _REPEATED.search(plain):
        times = int((found[2] or found[4])[:12])
        what = found[1] if found[2] else found[3]
        if times * len(what) > _MOST:
            raise ConfigError(field, f"{show(text)} has more than {_MOST} layers")
        plain = plain[: found.start()] + what * times + plain[found.end() :]
    return plain


def is_given(plan: Plan) -> bool:
    """Return whether a plan says anything of which stage has how many layers."""
    ends = plan.first_stage_layers or plan.last_stage_layers
    return plan.stage_layers is not None or ends is not None


def shares(plan: Plan, layers: int, devices: Sequence[int]) -> tuple[int, ...] | Unfit | None:
    """Return the layers of each stage as the plan gives them, None where it does not.

    `devices` has the device of each stage, in the order of the forward pass.
    """
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
    """Return the layers of each device where the first, the last or both are given."""
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
    """Return the layers of each stage where those of each device are given."""
    chunks = len(devices) // len(given)
    for device, count in enumerate(given):
        if count % chunks:
            return Unfit(field, f"{count} layers of device {device} do not make {chunks} chunks; "
                         "give one number for each stage")  # fmt: skip
    return tuple(given[device] // chunks for device in devices)
