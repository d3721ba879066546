"""The layered training step, against a closed form that knows no events."""

from __future__ import annotations

from typing import Any

import pytest

from tests import identities
from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.run.simulate import simulate
from yantra.scenario import Collectives, Device, Dimension, Scenario, Topology, Traces
from yantra.workloads.training.layered import Layer, LayeredStep, step

TOPOLOGY = Topology(
    dimensions=(
        Dimension(kind="ring", size=4, bytes_per_ns=100.0, latency_ns=250.0),
        Dimension(kind="fully_connected", size=2, bytes_per_ns=50.0, latency_ns=500.0),
        Dimension(kind="switch", size=2, bytes_per_ns=25.0, latency_ns=1000.0),
    )
)
SIZES = [dimension.size for dimension in TOPOLOGY.dimensions]


def _run(made: LayeredStep, *, record: bool = False) -> Any:
    return simulate(
        Scenario(
            workload=Traces(traces=made.traces, groups=made.groups),
            topology=TOPOLOGY,
            device=Device(memory_bytes_per_s=1e12),
            collectives=Collectives(all_reduce=("ring", "direct", "direct"), chunks=4),
        ),
        record=record,
    )


def _alone_ns(size_bytes: int, members: tuple[int, ...]) -> float:
    if size_bytes == 0:
        return 0.0
    inside, outside = TraceBuilder(), TraceBuilder()
    inside.collective(CollectiveType.ALL_REDUCE, size_bytes, group="1")
    outside.compute(duration_micros=0)
    traces = [(inside if r in members else outside).build() for r in range(TOPOLOGY.ranks)]
    return float(_run(LayeredStep(tuple(traces), ((1, members),))).finish_ns[members[0]])


def _closed_form_ns(layers: list[Layer], model_ranks: int) -> float:
    """The recurrence of the step: when is the device free, the gradient there, the sum done?"""
    model = tuple(range(model_ranks))
    data = tuple(range(0, TOPOLOGY.ranks, model_ranks))
    sums = [
        (_alone_ns(layer.activation_bytes, model), _alone_ns(layer.weight_bytes, data))
        for layer in layers
    ]
    now = sum(1000 * layer.forward_micros + sums[i][0] for i, layer in enumerate(layers))
    free = gradient = now
    summed = 0.0
    for i, layer in reversed(list(enumerate(layers))):
        free = max(free, gradient)
        if i > 0:
            free += 1000 * layer.input_gradient_micros
            gradient = free + sums[i][0]
        free += 1000 * layer.weight_gradient_micros
        summed = max(summed, free) + sums[i][1]
    return max(summed, gradient, free)


LAYERS = [
    Layer(
        forward_micros=30 + 10 * i,
        input_gradient_micros=20 + 15 * i,
        weight_gradient_micros=25,
        activation_bytes=(1 + i % 3) << 20,
        weight_bytes=(5 - i) << 20,
    )
    for i in range(5)
]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_step_takes_the_time_of_its_closed_form(count: int) -> None:
    layers = LAYERS[:count]
    result = _run(step(layers, SIZES))
    assert result.finish_ns == pytest.approx([_closed_form_ns(layers, 4)] * 16, abs=0.01)


def test_sums_of_weights_hide_behind_the_backward_pass() -> None:
    layers = [layer.replace(activation_bytes=0) for layer in LAYERS]
    slow = [layer.replace(weight_gradient_micros=5000) for layer in layers]
    result = _run(step(slow, SIZES))
    last_ns = _alone_ns(slow[0].weight_bytes, (0, 4, 8, 12))
    assert result.ranks["exposed_communication_ns"] == pytest.approx([last_ns] * 16, abs=0.01)


def test_without_sums_the_step_is_its_computations() -> None:
    bare = [layer.replace(activation_bytes=0, weight_bytes=0) for layer in LAYERS]
    micros = sum(x.forward_micros + x.weight_gradient_micros for x in bare)
    micros += sum(x.input_gradient_micros for x in bare[1:])
    assert list(_run(step(bare, SIZES)).finish_ns) == [1000 * micros] * 16


@pytest.mark.parametrize(
    ("model_dimensions", "groups"),
    [
        (0, [tuple(range(16))]),
        (1, [(0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11), (12, 13, 14, 15)]),
        (2, [tuple(range(8)), tuple(range(8, 16))]),
        (3, [tuple(range(16))]),
    ],
)
def test_ranks_are_split_by_dimensions(model_dimensions: int, groups: list[Any]) -> None:
    made = step(LAYERS[:1], SIZES, model_dimensions)
    assert [members for _, members in made.groups][: len(groups)] == groups
    assert [number for number, _ in made.groups] == list(range(1, len(made.groups) + 1))
    covered = sorted(rank for _, members in made.groups for rank in members)
    assert covered == sorted([*range(16)] * (1 if model_dimensions in (0, 3) else 2))
    identities.hold(_run(made, record=True))


def test_impossible_splits_are_refused() -> None:
    with pytest.raises(ConfigError, match="layers: must have at least one layer"):
        step([], SIZES)
    with pytest.raises(ConfigError, match=r"model_dimensions: expected 0 to 3, .*; got 4"):
        step(LAYERS, SIZES, 4)
