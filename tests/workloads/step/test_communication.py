"""A generated step communicates what the closed forms say, to the byte."""

from __future__ import annotations

from collections import Counter

from hypothesis import given

from tests.oracles.communication_forms import (
    Shape,
    Split,
    border_bytes,
    dense_weights,
    expert_weights,
    stage_bytes,
)
from tests.workloads.step.models import build, plans
from tests.workloads.step.tally import tally_device
from tests.zoo import drawn
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.check import check_job
from yantra.workloads.training.train import Step


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
@drawn(80)
def test_the_bytes_of_every_collective_are_those_of_the_closed_forms(
    drawn: tuple[Shape, Plan],
) -> None:
    shape, plan = drawn[0], drawn[1].replace(messages="whole", gather_again=True)
    built = build(plan, shape)
    check_job(built.job, plan.grid(), built.passes, built.ends)
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
    replicas = split.D * split.c
    weights = dense_weights(shape, split, stage)
    weights //= (split.shard or replicas) if split.zero else 1
    if shape.E:
        edp = split.D * split.c * split.t // split.e
        weights += expert_weights(shape, split) // (edp if split.zero else 1)
    expected["all_reduce", "mirror"] += 4 * weights
