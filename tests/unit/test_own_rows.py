"""The worth of three own steps, judged without a stack that saw the data set."""

from __future__ import annotations

import re

import pytest

from yantra.accuracy.own_rows import (
    candidates,
    figures,
    first_middle_last,
    operations,
    table,
    weighed_median,
)
from yantra.accuracy.rows import UNKNOWN, Row, datasets
from yantra.accuracy.splits import family
from yantra.accuracy.suite import chosen_rows
from yantra.fabric import stacks


def rows_of(dataset: str) -> list[Row]:
    return [row for row in chosen_rows() if row.dataset == dataset]


def base(name: str) -> str:
    """A stack's name without its kind and release."""
    return re.sub(r"(-moe)?(-\d\d\.\d\d)?$", "", name)


@pytest.mark.parametrize("dataset", datasets())
def test_no_stack_that_saw_a_step_of_the_data_set_is_a_candidate(dataset: str) -> None:
    rows = rows_of(dataset)
    left = [one.name for one in candidates(rows, chosen_rows())]
    own = {row.stack for row in rows}
    assert UNKNOWN not in left and not own & set(map(base, left))
    assert {base(name) for name in set(stacks.names()) - set(left)} <= own | {UNKNOWN}
    by_stack = {row.stack: family(row) for row in chosen_rows()}
    strict = [one.name for one in candidates(rows, chosen_rows(), strict=True)]
    families = {by_stack[base(name)] for name in strict}
    assert set(strict) <= set(left)
    assert not families & {family(row) for row in rows}


def test_own_steps_are_the_first_the_middle_and_the_last_by_size() -> None:
    rows = rows_of("ptdp")
    own = first_middle_last(rows)
    sizes = sorted(operations(row) for row in rows)
    assert [operations(row) for row in own] == [sizes[0], sizes[len(sizes) // 2], sizes[-1]]
    assert first_middle_last(rows[::-1]) == own


def test_the_median_weighs_sets_alike() -> None:
    assert weighed_median([[0.1] * 100, [-0.3], [0.5, -0.5]]) == 0.3
    assert weighed_median([[0.2, -0.1, 0.4]]) == 0.2
    with pytest.raises(ValueError, match="no errors"):
        weighed_median([])


@pytest.mark.slow
def test_three_steps_are_worth_more_than_the_mixture() -> None:
    """Steps of 2021, judged without the stack that was fitted to them."""
    rows = rows_of("ptdp")
    left = candidates(rows, chosen_rows())
    found = figures(rows, left)
    assert len(found.moved) == len(rows) - 3 and found.start in {one.name for one in left}
    sizes = [sum(map(abs, one)) / len(one) for one in (found.moved, found.nearest, found.unknown)]
    assert sizes[0] < sizes[2] < 0.07
    assert sizes[0] < min(0.04, sizes[1] + 0.01)  # the nearest may be right by chance
    assert found.covered >= 0.85
    assert f"{sizes[0]:.1%}" in table([found])[2]
