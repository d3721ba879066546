"""Pipeline stages: which tensor is made where, and the messages between stages.

Source: astra-sim/stage@9ec6c02, `_create_pipeline_tensor_map` and the pass GraphDistributer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.workloads.importers.stg import operators
from yantra.workloads.importers.stg.tensors import FRONT, Graph, Spec, Tensor

StageOf = Callable[[int | str], int]
"""Stage of a unit: a layer's number, `front` or `tail`."""


class Message(NamedTuple):
    tensor: Tensor
    sender: int
    shadow: Tensor
    receiver: int


class Stages(NamedTuple):
    """Graphs by stage, in the order of first occurrence, and messages in order of ids."""

    graphs: dict[int, Graph]
    messages: list[Message]


def equal_slices(layers: int, pp: int, tail: int) -> StageOf:
    if layers < pp:
        problem = f"expected at least one layer for each of the {pp} stages, got {layers} layers"
        raise ConfigError("num_stacks", problem)
    length, longer = divmod(layers, pp)

    def stage_of(unit: int | str) -> int:
        if isinstance(unit, int):
            long = longer * (length + 1)
            return unit // (length + 1) if unit < long else longer + (unit - long) // length
        return 0 if unit == FRONT else tail

    return stage_of


def slices_of(length: int, layers: int, pp: int) -> StageOf:
    """The inference models' slices of `length`, around and around the stages."""
    if length < 1:
        raise ConfigError("layer_each_stage", f"expected at least 1, got {length}")

    def stage_of(unit: int | str) -> int:
        if isinstance(unit, int):
            return (unit + 1) // length % pp
        return 0 if unit == FRONT else (layers + 2) // length % pp

    return stage_of


def split(graph: Graph, stage_of: StageOf) -> Stages:
    stages: dict[int, Graph] = {}
    home: dict[Tensor, int] = {}
    for tensor in graph:
        stage = home[tensor] = stage_of(tensor.unit)
        stages.setdefault(stage, []).append(tensor)
    messages = []
    for stage, tensors in stages.items():
        shadows: dict[Tensor, Tensor] = {}
        for tensor in tensors:
            if tensor.x1 is not None and home[tensor.x1] != stage:
                tensor.x1 = _shadow(tensor.x1, shadows)
            if tensor.x2 is not None and home[tensor.x2] != stage:
                tensor.x2 = _shadow(tensor.x2, shadows)
            if any(home[other] != stage for other in tensor.also):
                problem = "its further inputs (data_deps) are made on another pipeline stage"
                raise ConfigError(tensor.spec.where or tensor.name, problem)
        for remote, shadow in shadows.items():
            messages.append(Message(remote, home[remote], shadow, stage))
            home[shadow] = stage
        tensors += shadows.values()
    return Stages(stages, messages)


def _shadow(remote: Tensor, shadows: dict[Tensor, Tensor]) -> Tensor:
    if remote not in shadows:
        made = operators.output(remote.spec)
        spec = Spec(operators.SHADOW, made.shape, made.hidden, where=remote.spec.where)
        shadow = shadows[remote] = Tensor(f"shadow_{remote.name}", spec)
        shadow.unit, shadow.micro_batch = remote.unit, remote.micro_batch
        shadow.weight_gradient, shadow.backward = remote.weight_gradient, remote.backward
    return shadows[remote]
