"""Amounts of many micro-batches at once equal those of each: by lines, or made one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.micro_batches import amounts_of
from yantra.explore.closed_form.passes import Works
from yantra.explore.closed_form.space import PlanSpace
from yantra.workloads.models.catalogue import find
from yantra.workloads.operators.operations import Operation, Pass, StageWork
from yantra.workloads.plan.plan import Plan

SIZES = [1, 3, 4, 6, 12, 32]


@pytest.mark.parametrize("name", ["llama3-8b", "mixtral-8x7b", "deepseek-v2", "vit-b/16", "dlrm"])
@pytest.mark.parametrize(
    "fields",
    [
        {"tp": 1},
        {"tp": 1, "recompute": "full"},
        {"tp": 1, "dtype": "fp8", "recompute": "selective"},
    ],
)
def test_all_micro_batches_are_what_each_is(name: str, fields: dict[str, Any]) -> None:
    model = find(name)
    works = Works(model, 1024)

    def made(size: int) -> list[StageWork]:
        return works.of(Plan(micro_batch=size, **fields))

    every = amounts_of(made, SIZES)
    assert every is not None
    for column, size in enumerate(SIZES):
        alone = amounts_of(made, [size])
        assert alone is not None
        for (_, many), (_, one) in zip(every, alone, strict=True):
            assert many.rows[:, column].tolist() == one.rows[:, 0].tolist()
            assert many.border[column] == one.border[0]
            for at, operation in enumerate(one.operations):
                if not operation.communicates:
                    assert many.kernels(at)[column] == one.kernels(at)[0]


def stage(size_bytes: int, kind: str = "gemm") -> list[StageWork]:
    operation = Operation("x", kind, "forward", "layers.0", bytes_read=size_bytes)
    return [StageWork(Pass((operation,)), Pass(()), ())]


def test_what_is_on_a_line_is_made_for_the_first_two_and_the_last_size() -> None:
    asked: list[int] = []

    def made(size: int) -> Sequence[StageWork]:
        asked.append(size)
        return stage(7 * size + 5)

    found = amounts_of(made, SIZES)
    assert found is not None
    assert found[0][1].rows[1].tolist() == [7 * size + 5 for size in SIZES]
    assert asked == [1, 2, SIZES[-1]]


def test_what_is_on_no_line_is_made_for_each_size() -> None:
    """Squares are not what the first two say of the most."""
    asked: list[int] = []

    def made(size: int) -> Sequence[StageWork]:
        asked.append(size)
        return stage(size**2)

    found = amounts_of(made, SIZES)
    assert found is not None
    assert found[0][1].rows[1].tolist() == [size**2 for size in SIZES]
    assert set(asked) == {1, 2, *SIZES}


def test_works_that_differ_in_kind_have_no_columns() -> None:
    def made(size: int) -> Sequence[StageWork]:
        return stage(size, "gemm" if size < 4 else "norm")

    assert amounts_of(made, SIZES) is None
    assert amounts_of(made, [4, 6]) is not None


@pytest.mark.parametrize("stack", ["roofline", "unknown"])
def test_plans_judged_together_are_judged_as_one_by_one(stack: str) -> None:
    model, batch = find("mixtral-8x7b"), 64
    space = PlanSpace(ranks=16, global_batch=batch, tp=(1, 2), pp=(2,), sequence=1024)
    columns = space.columns(model)
    machine = Machine("hgx-h100", 16, stack=stack)
    together = ClosedForm(model, machine, 1024).judge(columns, batch)
    for row in range(0, len(columns["tp"]), 41):
        one = {name: of[row : row + 1] for name, of in columns.items()}
        alone = ClosedForm(model, machine, 1024).judge(one, batch)
        for of, own in zip(together, alone, strict=True):
            assert own[0] == pytest.approx(of[row], rel=1e-12, abs=1e-12 * together.time_ns[row])


def test_no_micro_batch_of_a_search_is_left_out() -> None:
    model = find("llama3-8b")
    columns = PlanSpace(ranks=8, global_batch=96, tp=(1,), pp=(1,)).columns(model)
    assert len(np.unique(columns["micro_batch"])) > 3
    form = ClosedForm(model, Machine("hgx-h100", 8, stack="unknown"))
    times = form.judge(columns, 96).time_ns
    assert np.isfinite(times).all()
    assert (times > 0).all()
