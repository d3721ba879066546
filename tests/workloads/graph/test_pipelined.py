"""Gathers and scatters over tp beside the products that use or make what they move."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.passes import Works
from yantra.explore.closed_form.space import PlanSpace
from yantra.fabric.stacks.choice import DEFAULT
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.workloads.models.catalogue import find
from yantra.workloads.operators.graph.pipelined import pipelined
from yantra.workloads.operators.operations import Operation, Pass
from yantra.workloads.plan.check import check
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.stage import stage_work
from yantra.workloads.training.train import train

TOKENS = 4096


def product(*after: int) -> Operation:
    return Operation("product", "gemm", "forward", "layers.0", after)


def moving(kind: CollectiveType, *after: int, size: int = 1000) -> Operation:
    name = kind.name.lower()
    return Operation(
        name, name, "forward", "layers.0", after, collective=kind, group="tp", size_bytes=size
    )


def ends(one: Pass, message: int, work: int) -> int:
    """When a pass ends, a byte taking `message` / 1000 and a product `work`."""
    chains: dict[bool, int] = {}
    done: list[int] = []
    for each in one.operations:
        start = max((done[at] for at in each.after), default=0)
        is_message = each.collective is not None
        time = each.size_bytes * message // 1000 if is_message else work
        end = max(start, chains.get(is_message, 0)) + time
        chains[is_message] = end
        done.append(end)
    return max(done)


@given(st.integers(1, 50), st.integers(1, 50), st.sampled_from((2, 4, 8)), st.booleans())
def test_a_product_with_its_message_takes_between_the_longer_and_the_sum(
    message: int, work: int, ways: int, gathers: bool
) -> None:
    kind = CollectiveType.ALL_GATHER if gathers else CollectiveType.REDUCE_SCATTER
    both = (moving(kind), product(0)) if gathers else (product(), moving(kind, 0))
    made = pipelined(Pass(both, (0,), 1), ways)
    least, most = max(message, work) * 1000, (message + work) * 1000
    assert least <= ends(made, message * 1000, work * 1000) <= most
    assert sum(each.size_bytes for each in made.operations) == 1000
    assert made.entries == (0,) if gathers else made.entries == (0, 1)
    assert made.exit == 2


def test_what_no_product_uses_is_left_whole() -> None:
    norm = Operation("norm", "norm", "forward", "layers.0", (0,))
    one = Pass((moving(CollectiveType.ALL_GATHER), norm), (0,), 1)
    assert pipelined(one, 4) == one


def test_as_much_is_sent_saved_and_computed() -> None:
    for recompute in ("none", "full"):
        plan = Plan(tp=4, recompute=recompute)
        works = [
            stage_work(
                find("llama3-8b"),
                plan.replace(overlap_products=overlaps),
                layers=(1, 8),
                front=False,
                tail=False,
                sequence=TOKENS,
            )
            for overlaps in (False, True)
        ]
        for name in ("size_bytes", "saves", "frees", "tensor_flops", "bytes_read"):
            totals = [
                sum(getattr(one, name) for each in (of.forward, of.backward) for one in each[0])
                for of in works
            ]
            assert totals[0] == totals[1]


def step_ns(plan: Plan) -> float:
    workload = train(find("llama3-8b"), plan, TOKENS)
    parts = parts_for("hgx-h100", plan.ranks, "bf16")
    return simulate(Scenario(workload=Templates(workload=workload), **parts)).makespan_ns


@pytest.mark.parametrize("more", [{}, {"recompute": "full"}, {"pp": 2, "vpp": 2}])
def test_a_step_gets_shorter(more: dict[str, Any]) -> None:
    plan = Plan(tp=4, dp=2, global_batch=4, **more)
    assert step_ns(plan.replace(overlap_products=True, global_batch=4)) < step_ns(plan)


def test_it_needs_something_to_gather() -> None:
    for plan, problem in (
        (Plan(overlap_products=True), "needs tp above 1"),
        (Plan(tp=2, sequence_parallel=False, overlap_products=True), "nothing is gathered before"),
    ):
        with pytest.raises(ConfigError, match=problem):
            check(plan, find("llama3-8b"))


def test_the_closed_form_has_it() -> None:
    space = PlanSpace(
        ranks=16, global_batch=32, most_tp=8, sequence=TOKENS, tp=(2, 4, 8), zero=(1,),
        gradient_dtype=("bf16",), overlap_products=True, recompute=("none",),
    )  # fmt: skip
    model = find("llama3-8b")
    columns = space.columns(model)
    machine = Machine("hgx-h100", 16, stack=DEFAULT)
    judged = ClosedForm(model, machine, TOKENS, Works(model, TOKENS, space.held)).judge(columns, 32)
    rows = np.random.default_rng(2).permutation(len(columns["tp"]))[:4].tolist()
    error = [abs(judged.time_ns[row] / step_ns(space.plan(columns, row)) - 1) for row in rows]
    assert max(error) < 0.03
