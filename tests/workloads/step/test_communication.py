"""What a generated step communicates is what the closed forms say, to the byte."""

from __future__ import annotations

from collections import Counter

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.oracles.communication_forms import (
    Shape,
    Split,
    border_bytes,
    dense_weights,
    expert_weights,
    stage_bytes,
)
from tests.workloads.step.models import build
from tests.workloads.step.tally import tally_device
from yantra.workloads.check import check_job
from yantra.workloads.plan import Plan
from yantra.workloads.training import Step, grid_of_plan

DENSE = Shape(h=256, L=8, a=8, g=4, d=32, f=512, V=1024, s=128)
EXPERTS = DENSE._replace(f=128, E=8, k=2)
VIRTUAL = {"interleaved": 2, "zb-v": 2, "dualpipev": 2}


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
            ("gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipev", "dualpipe")
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
        bucket_elements=draw(st.sampled_from((None, 100_000))),
    )


def split_of(plan: Plan, stages: int) -> Split:
    return Split(
        t=plan.tp,
        sp=plan.sequence_parallel,
        c=plan.cp,
        cp_kind=plan.cp_kind,
        stages=stages,
        D=plan.dp,
        e=plan.ep,
        m=plan.micro_batches,
        zero=plan.zero,
        shard=plan.shard or 0,
    )


def moved(built: Step, device: int) -> Counter[tuple[str, str]]:
    tally = tally_device(built, device)
    return Counter(
        {(kind, group): size for (what, kind, group), size in tally.items() if what == "bytes"}
    )


@given(plans())
@settings(max_examples=200)
def test_the_bytes_of_every_collective_are_those_of_the_closed_forms(
    drawn: tuple[Shape, Plan],
) -> None:
    shape, plan = drawn
    built = build(plan, shape)
    check_job(built.job, grid_of_plan(plan), built.passes, built.ends)
    stages = built.job.stages
    same_device = stages.place(0)[0] == stages.place(stages.count - 1)[0]
    joined = same_device and (stages.count == 1 or plan.zero < 3)
    split = split_of(plan, stages.count)._replace(joined=joined)
    for device, chunks in enumerate(built.job.chunks):
        expected: Counter[tuple[str, str]] = Counter()
        for chunk in chunks:
            share = split._replace(m=plan.micro_batches // len(stages.routes))
            expected += stage_bytes(shape, share, chunk.stage)
            for other in (
                stages.before(device, chunk.number),
                stages.after(device, chunk.number),
            ):
                if other is not None and other[0] != device:
                    expected["send", "pp"] += share.m * border_bytes(
                        shape, share._replace(stages=2), 0
                    )
            if len(stages.routes) > 1:
                copies(expected, shape, split, chunk.stage)
        if plan.dp * plan.cp > 1 and any(chunk.stage == stages.count - 1 for chunk in chunks):
            expected["all_reduce", "dp_cp"] += 4
        if plan.ranks > 1:
            expected["all_reduce", "world"] += 4
        if same_device or len(stages.routes) > 1:
            del expected["all_reduce", "embedding"]
        assert dict(moved(built, device)) == dict(+expected)


def copies(expected: Counter[tuple[str, str]], shape: Shape, split: Split, stage: int) -> None:
    """Add the sum over the two copies of every stage of a bidirectional pipeline."""
    replicas = split.D * split.c
    weights = dense_weights(shape, split, stage)
    weights //= (split.shard or replicas) if split.zero else 1
    if shape.E:
        edp = split.D * split.c * split.t // split.e
        weights += expert_weights(shape, split) // (edp if split.zero else 1)
    expected["all_reduce", "mirror"] += 4 * weights
