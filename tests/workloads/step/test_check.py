"""The self-check finds what would stop a step before its end, and passes every generated one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workloads.step.models import build
from tests.workloads.step.works import kernel, stages
from yantra.base.errors import InternalError
from yantra.workloads.operators.operations import Operation
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.check import check_job, check_pass
from yantra.workloads.training.step.draft import Draft, Item, Wait
from yantra.workloads.training.step.passes import Drafted
from yantra.workloads.training.train import Step

PLAN = Plan(pp=4, dp=2, global_batch=16)


def checked(step: Step, plan: Plan = PLAN) -> None:
    check_job(step.job, plan.grid(), step.passes, step.ends)


def changed(step: Step, device: int, kind: str, change: Any) -> Step:
    passes = list(step.passes)
    passes[device] = {
        key: Drafted(tuple(change(one.items)), one.blocking) if key.kind == kind else one
        for key, one in step.passes[device].items()
    }
    return step._replace(passes=tuple(passes))


def without(kind: str) -> Any:
    return lambda items: [item for item in items if item.operation.kind != kind]


def with_tags(shift: int) -> Any:
    def change(items: tuple[Item, ...]) -> list[Item]:
        return [
            item._replace(operation=item.operation._replace(tag=item.operation.tag + shift))
            for item in items
        ]

    return change


@pytest.fixture(scope="module")
def step() -> Step:
    return build(PLAN, works=stages(4))


def test_a_sound_step_passes(step: Step) -> None:
    checked(step)


def test_a_receive_without_its_send_is_found(step: Step) -> None:
    with pytest.raises(InternalError, match="from device 1 to device 2 has only one end"):
        checked(changed(step, 1, "F", without("send")))


def test_a_receive_with_another_tag_is_found(step: Step) -> None:
    with pytest.raises(InternalError, match="has only one end"):
        checked(changed(step, 2, "F", with_tags(1)))


def test_different_collectives_between_stages_are_found() -> None:
    plan = Plan(pp=2, dp=2, global_batch=8, schedule="dualpipe")
    step = build(plan, works=stages(2))
    checked(step, plan)
    larger = build(plan, works=stages(2, elements=192))
    mixed = step._replace(ends=(step.ends[0], larger.ends[1]))
    with pytest.raises(InternalError, match="never gets past its all_reduce"):
        checked(mixed, plan)


def test_devices_that_wait_for_each_other_are_found(step: Step) -> None:
    programs = list(step.job.programs)
    first = programs[0]
    programs[0] = (*first[1:4], first[0], *first[4:])
    backwards = step._replace(job=step.job._replace(programs=tuple(programs)))
    checked(backwards)  # device 0 may take its forward passes in any order
    at = next(n for n, action in enumerate(first) if action[0].key.kind == "B")
    programs[0] = (first[at], *first[:at], *first[at + 1 :])
    circle = step._replace(job=step.job._replace(programs=tuple(programs)))
    with pytest.raises(InternalError, match="never gets past its recv"):
        checked(circle)


def test_an_operation_that_waits_for_a_later_one_is_found() -> None:
    draft = Draft((kernel("forward", "layers.0"), kernel("forward", "layers.1")))
    draft.wait(0, Wait(1))
    with pytest.raises(
        InternalError, match=r"'layers.0.forward' waits for an operation not before"
    ):
        check_pass(Drafted(draft.parts()), "pass")


def message(kind: str, tag: int, *after: int, size: int = 8) -> Operation:
    peer = "cp+1" if kind == "send" else "cp-1"
    return Operation(kind, kind, "forward", "layers.0", after, size_bytes=size, peer=peer, tag=tag)


def test_messages_within_a_stage_may_stand_in_any_order_that_ends() -> None:
    operations = (message("recv", 0), message("send", 0), kernel("forward", "layers.0", 0))
    check_pass(Drafted(Draft(operations).parts()), "pass")


def test_messages_within_a_stage_that_wait_for_each_other_are_found() -> None:
    operations = (message("recv", 0), message("send", 0, 0))
    with pytest.raises(InternalError, match="wait for each other"):
        check_pass(Drafted(Draft(operations).parts()), "pass")


def test_messages_within_a_stage_of_different_sizes_are_found() -> None:
    operations = (message("send", 0), message("recv", 0, size=9))
    with pytest.raises(InternalError, match="do not match"):
        check_pass(Drafted(Draft(operations).parts()), "pass")


def test_two_messages_with_one_tag_are_found(step: Step) -> None:
    same = step._replace(job=step.job._replace(tags_per_microbatch=0))
    with pytest.raises(InternalError, match="stands for several messages"):
        checked(same)
