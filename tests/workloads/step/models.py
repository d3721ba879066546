"""Small models and whole training jobs for the tests of the step."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from tests.oracles.communication_forms import Shape
from yantra.workloads import schedules
from yantra.workloads.models.blocks import MLP, Attention, Embedding, Head, Layer, MoE
from yantra.workloads.operators.operations import StageWork
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import Step, step_of, works_of

DENSE = Shape(h=256, L=8, a=8, g=4, d=32, f=512, V=1024, s=128)
EXPERTS = DENSE._replace(f=128, E=8, k=2)
VIRTUAL = {"interleaved": 2, "interleaved-rounds": 2, "zb-v": 2, "dualpipev": 2}


@st.composite
def plans(draw: st.DrawFn) -> tuple[Shape, Plan]:
    """A legal plan of a small transformer; all sizes divide."""
    shape = draw(st.sampled_from((DENSE, DENSE._replace(tied=True), EXPERTS)))
    tp = draw(st.sampled_from((1, 2, 4)))
    cp = draw(st.sampled_from((1, 2)))
    dp = draw(st.sampled_from((1, 2, 4)))
    pp = draw(st.sampled_from((1, 2, 4)))
    schedule = draw(
        st.sampled_from(
            (
                "gpipe",
                "1f1b",
                "interleaved",
                "interleaved-rounds",
                "zb-h1",
                "zb-h2",
                "zb-v",
                "dualpipev",
                "dualpipe",
            )
        )
    )
    zero = draw(st.sampled_from((0, 1, 2, 3)))
    ep = draw(st.sampled_from((1, 2, 4))) if shape.E else 1
    assume(tp * cp * dp % ep == 0)
    assume(schedule != "dualpipe" or pp % 2 == 0)
    micro_batches = draw(st.sampled_from((1, 2))) * 2 * pp
    cp_kind = draw(st.sampled_from(("p2p", "all_gather", "a2a")))
    assume(cp == 1 or cp_kind != "a2a" or 4 // tp % cp == 0)
    sharded = zero and dp * cp > 1 and not shape.E
    return shape, Plan(
        tp=tp,
        cp=cp,
        dp=dp,
        pp=pp,
        ep=ep,
        vpp=VIRTUAL.get(schedule, 1),
        sequence_parallel=tp > 1 and (bool(shape.E) or draw(st.booleans())),
        cp_kind=cp_kind,
        zero=zero,
        shard=draw(st.sampled_from((None, 1, 2))) if sharded else None,
        global_batch=micro_batches * dp,
        schedule=schedule,
        overlap_gradients=draw(st.booleans()),
        overlap_parameters=draw(st.booleans()),
        overlap_p2p=draw(st.booleans()),
        overlap_tensor=draw(st.booleans()),
        gather_again=draw(st.booleans()),
        messages=draw(st.sampled_from(("whole", "sliced", "scattered"))),
        bucket_elements=draw(st.sampled_from((None, 100_000))),
    )


def model_of(shape: Shape) -> Any:
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
    schedule = schedules.get(plan.schedule)
    orders = schedule.orders(plan.pp, plan.micro_batches, plan.vpp)
    stages = schedule.stages(plan.pp, plan.vpp)
    if works is None:
        assert shape is not None
        works = works_of(model_of(shape), plan, shape.s, stages.count)
    return step_of(works, plan, orders, stages)
