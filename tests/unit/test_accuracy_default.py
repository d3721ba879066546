"""What the default gives for measured steps, and how plans are ranked."""

from __future__ import annotations

from statistics import fmean

import pytest

from yantra.accuracy.default import (
    WORST,
    Ours,
    default_now,
    half_width,
    judge,
    key_of,
    recorded,
    table,
    width_on,
)
from yantra.accuracy.mixture import unknown_without
from yantra.accuracy.moved import State, moved
from yantra.accuracy.own_fit import student
from yantra.accuracy.ranking import LEAST_PLANS, groups_of, ranking_of
from yantra.accuracy.rows import Row
from yantra.accuracy.suite import chosen_rows
from yantra.accuracy.with_stack import scenario_with
from yantra.fabric import stacks
from yantra.run.interval import interval
from yantra.run.simulate import simulate

ROWS = chosen_rows()


def rows(dataset: str, number: int) -> list[Row]:
    return [row for row in ROWS if row.dataset == dataset][:number]


@pytest.mark.parametrize("dataset", ["mpt_fsdp_a100", "simumax_b200"])
def test_a_row_is_the_run_with_the_mixture_without_its_framework_and_profile(dataset: str) -> None:
    (row,) = rows(dataset, 1)
    (ours,) = default_now([row])
    stack = unknown_without(row.file.framework)
    result = simulate(scenario_with(row._replace(profile=""), stack))
    held = interval(result)
    assert held is not None
    assert ours.seconds == float(result.finish_ns.max()) / 1e9
    stated = stack.terms(row.machine, row.dtype)[1].interval.value
    assert (ours.beside > 0) == ("a100" in row.machine)  # where kernels of several years run
    assert ours.within(stated) == (held.low * ours.seconds, held.high * ours.seconds)


def test_the_record_has_every_row_and_is_what_the_code_says() -> None:
    found = recorded()
    assert [one.row for one in found] == ROWS
    for dataset in {row.dataset for row in ROWS}:
        (row,) = rows(dataset, 1)
        (now,) = default_now([row])
        (before,) = [one for one in found if one.row == row]
        assert now.seconds == pytest.approx(before.seconds, rel=1e-4)


def test_each_data_set_has_one_vote_and_the_worst_are_first() -> None:
    found = judge(recorded())
    assert found.whole.mean == pytest.approx(fmean(one.mean for one in found.datasets))
    assert found.whole.bias == pytest.approx(fmean(one.bias for one in found.datasets))
    for lines in (found.datasets, found.machines, found.frameworks):
        assert sum(one.rows for one in lines) == found.whole.rows == len(ROWS)
        assert [one.mean for one in lines] == sorted((one.mean for one in lines), reverse=True)
        for one in lines:
            assert abs(one.bias) <= one.mean and 0 <= one.covered <= 1
    assert len(found.worst) == WORST
    assert abs(found.worst[-1].error) >= max(
        abs(one.error) for one in recorded() if one not in found.worst
    )
    assert len({line.count("|") for line in table(found) if line.startswith("|")}) == 1


def test_plans_ranked_as_measured_have_no_regret_and_reversed_the_most() -> None:
    some = rows("vtrain_one_node", 10**6)
    right = ranking_of((row, 2.0 * row.seconds) for row in some)
    wrong = ranking_of((row, 1.0 / row.seconds) for row in some)
    assert right is not None and wrong is not None
    assert right.tau == 1.0 and right.regret.mean == 0.0
    assert wrong.tau == -1.0
    groups = groups_of((row, 0.0) for row in some)
    assert right.groups == len(groups) > 10
    assert min(map(len, groups)) >= LEAST_PLANS
    worst = fmean(max(group)[0] / min(group)[0] - 1.0 for group in groups)
    assert wrong.regret.mean == pytest.approx(worst)


def test_fewer_plans_than_a_group_are_not_ranked() -> None:
    some = [Ours(row, row.seconds) for row in rows("ptdp", 3)]
    assert ranking_of((one.row, one.seconds) for one in some) is None
    assert judge(some).whole.mean == 0.0


def test_the_half_width_holds_nine_of_ten_votes_and_no_less_would() -> None:
    found = [one for one in recorded() if not key_of(one.row)[1]]
    width = half_width(found)
    assert width == max(one.needs for one in found if one.needs <= width)
    datasets = {one.row.dataset for one in found}

    def votes(most: float) -> float:
        return fmean(
            fmean(one.needs <= most for one in found if one.row.dataset == name)
            for name in datasets
        )

    assert votes(width) >= 0.9 > votes(width * (1 - 1e-9))
    within = [one for one in found if one.needs <= width]
    assert all(one.off**2 <= width**2 + one.beside**2 + 1e-12 for one in within)
    assert 0.85 <= judge(recorded()).whole.covered <= 0.95


def test_an_interval_is_as_wide_as_steps_on_the_machine_are_off_and_wide_without_any() -> None:
    found = recorded()
    least = half_width([one for one in found if not key_of(one.row)[1]])
    nowhere, slow = width_on(("mi300x", False), found), width_on(("hgx-b200", False), found)
    assert least < nowhere < slow
    of_sets = {one.row.dataset: [] for one in found if not key_of(one.row)[1]}
    for one in found:
        if not key_of(one.row)[1]:
            of_sets[one.row.dataset].append(one.needs**2)
    square = fmean(map(fmean, of_sets.values()))
    assert nowhere == pytest.approx(student(3) * square**0.5)
    for machine, terms in stacks.load("unknown").machines:
        name, eight, _ = machine.partition(" fp8")
        assert terms.interval.value == pytest.approx(width_on((name, bool(eight)), found), abs=6e-4)


def test_each_kind_of_step_is_covered() -> None:
    many = [one for one in judge(recorded()).datasets if one.rows >= 20]
    assert len(many) > 5
    assert min(one.covered for one in many) >= 0.78


def test_what_a_refit_moves_is_said_and_what_it_leaves_is_not() -> None:
    name = "megatron-2022"
    stack = stacks.load(name)
    machine, terms = stack.machines[0]
    longer = terms.products.replace(value=terms.products.value + 0.05)
    after = stack.replace(machines=((machine, terms.replace(products=longer)), *stack.machines[1:]))
    before = State({name: stack, "gone": stack}, {"a": 0.05, "b": 0.05})
    lines = moved(before, State({name: after}, {"a": 0.051, "b": 0.08, "c": 0.1}))
    assert [line.partition(":")[0] for line in lines] == [f"{name} {machine}", "gone", "b", "c"]
    assert lines[2] == "b: 5.0% -> 8.0%" and lines[3] == "c: new -> 10.0%"
