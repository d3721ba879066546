"""Every known model runs to its end by every kind of plan, and its collectives agree.

The few plans here bring most pairs of values together; `python -m tests.workloads.every_model`
tries more.
"""

from __future__ import annotations

from functools import cache
from itertools import islice
from math import inf
from pathlib import Path

import pytest

from tests.workloads.every_model.plans import RANKS, Trial, covering, pairs, trials
from tests.workloads.every_model.trying import tried
from tests.zoo import some
from yantra.workloads import schedules
from yantra.workloads.models import catalogue
from yantra.workloads.plan.check import facts_of, problems

NAMES = catalogue.names()
COVERING = 40
DRAWS = 25 * len(NAMES)


@cache
def _whole() -> dict[str, Trial]:
    found: dict[str, Trial] = {}
    for trial in islice(trials(5, full=True, most_work=4000), 5 * len(NAMES)):
        if trial.work < getattr(found.get(trial.name), "work", inf):
            found[trial.name] = trial
    return found


@cache
def _covering() -> list[Trial]:
    return covering(trials(most_work=400), DRAWS, COVERING)


@pytest.mark.parametrize("name", some(NAMES))
def test_a_model_with_all_of_its_layers_runs_to_its_end(name: str, tmp_path: Path) -> None:
    assert tried(_whole()[name], tmp_path, NAMES.index(name)).nodes


@pytest.mark.parametrize("number", range(COVERING))
def test_a_plan_that_brings_new_values_together_runs_to_its_end(
    number: int, tmp_path: Path
) -> None:
    assert tried(_covering()[number], tmp_path, number).nodes


def test_the_plans_are_legal_and_of_8_to_64_ranks() -> None:
    for trial in (*_whole().values(), *_covering()):
        assert trial.plan.ranks in RANKS
        assert not list(problems(trial.plan, facts_of(trial.model), trial.model.sequence))


def test_the_plans_have_every_model_schedule_and_most_pairs_of_values() -> None:
    chosen = [*_whole().values(), *_covering()]
    assert {trial.name for trial in chosen} == set(NAMES)
    pipelines = {trial.plan.schedule for trial in chosen if trial.plan.pp > 1}
    assert pipelines == set(schedules.schedules.names())
    every = set().union(*map(pairs, islice(trials(most_work=400), DRAWS)))
    covered = set().union(*map(pairs, chosen))
    assert len(every & covered) > 0.75 * len(every)


def test_the_same_plans_are_drawn_every_time() -> None:
    assert list(islice(trials(3), 40)) == list(islice(trials(3), 40))
