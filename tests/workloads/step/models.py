"""Small models and whole training jobs for the tests of the step."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

from tests.oracles.communication_forms import Shape
from yantra.workloads import schedules
from yantra.workloads.blocks import MLP, Attention, Embedding, Head, Layer, MoE
from yantra.workloads.operations import StageWork
from yantra.workloads.plan import Plan
from yantra.workloads.stage import stage_work
from yantra.workloads.step.job import Job, job_of
from yantra.workloads.step.layers import layer_ranges
from yantra.workloads.step.passes import Drafted, PassKey


class Built(NamedTuple):
    """A job with the drafts of every device."""

    job: Job
    passes: tuple[dict[PassKey, Drafted], ...]
    ends: tuple[Drafted, ...]


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


def works_of(shape: Shape, plan: Plan, stages: int) -> list[StageWork]:
    """Return the work of every stage."""
    model = model_of(shape)
    return [
        stage_work(
            model,
            plan,
            layers=layers,
            front=stage == 0,
            tail=stage == stages - 1,
            sequence=shape.s,
        )
        for stage, layers in enumerate(layer_ranges(shape.L, stages))
    ]


def build(plan: Plan, shape: Shape | None = None, works: list[StageWork] | None = None) -> Built:
    """Draft the training step of a shape, or of given works."""
    schedule = schedules.get(plan.schedule)
    orders = schedule.orders(plan.pp, plan.micro_batches, plan.vpp)
    stages = schedule.stages(plan.pp, plan.vpp)
    if works is None:
        assert shape is not None
        works = works_of(shape, plan, stages.count)
    job = job_of(works, plan, orders, stages)
    devices = range(plan.pp)
    return Built(job, tuple(map(job.passes, devices)), tuple(map(job.finish, devices)))
