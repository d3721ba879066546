"""Small models and whole training jobs for the tests of the step."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.oracles.communication_forms import Shape
from yantra.workloads import schedules
from yantra.workloads.blocks import MLP, Attention, Embedding, Head, Layer, MoE
from yantra.workloads.operations import StageWork
from yantra.workloads.plan import Plan
from yantra.workloads.training import Step, step_of, works_of


def model_of(shape: Shape) -> Any:
    """Return the transformer of a shape."""
    mlp = (
        MoE(experts=shape.E, top_k=shape.k, intermediate=shape.f)
        if shape.E
        else MLP(intermediate=shape.f)
    )
    attention = Attention(heads=shape.a, kv_heads=shape.g, head_dim=shape.d)
    layer = Layer(hidden=shape.h, attention=attention, mlp=mlp)
    return SimpleNamespace(
        name="small",
        hidden=shape.h,
        front=Embedding(vocab=shape.V, hidden=shape.h, tied=shape.tied),
        layers=(layer,) * shape.L,
        tail=Head(vocab=shape.V, hidden=shape.h, tied=shape.tied),
        sequence=shape.s,
        fixed_sequence=False,
    )


def build(plan: Plan, shape: Shape | None = None, works: list[StageWork] | None = None) -> Step:
    """Draft the training step of a shape, or of given works by stage."""
    schedule = schedules.get(plan.schedule)
    orders = schedule.orders(plan.pp, plan.micro_batches, plan.vpp)
    stages = schedule.stages(plan.pp, plan.vpp)
    if works is None:
        assert shape is not None
        works = works_of(model_of(shape), plan, shape.s, stages.count)
    return step_of(works, plan, orders, stages)
