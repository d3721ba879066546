"""The loop of post-training: recorded schedules, and its laws on random jobs.

`schedules.json` has jobs worked by hand and by two programs; the whole set, where it is beside the
checkout, is checked too.
"""

from __future__ import annotations

import json
from heapq import heapify, heapreplace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rl.loop_oracle import Walk
from tests.rl.rl_jobs import groups, jobs, limited
from tests.zoo import drawn
from yantra.base.errors import ConfigError
from yantra.rl.groups import Groups
from yantra.rl.job import Job
from yantra.rl.laws import Curve, Law, Ticks
from yantra.rl.loop import of_json, run
from yantra.rl.schedule import Schedule
from yantra.serving import Linear

OWN = Path(__file__).with_name("schedules.json")
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "rl" / "schedules.json"


def cases() -> list[Any]:
    found = [pytest.param(case, id=case["name"]) for case in json.loads(OWN.read_text())]
    if SHARED.exists():
        shared = json.loads(SHARED.read_text())
        found += [pytest.param(case, id=f"shared {case['name']}") for case in shared]
    return found


@pytest.mark.parametrize("case", cases())
def test_recorded_schedules_are_equal_to_the_tick(case: dict[str, Any]) -> None:
    made = run(of_json(case)).as_json()
    for name, expected in case["expected"].items():
        assert made[name] == expected, name


@drawn(50)
@given(jobs())
def test_the_core_does_what_a_walk_through_every_tick_does(job: Job) -> None:
    walk = Walk(job)
    expected = walk.run()
    made = run(job).as_json()
    for name, value in expected.items():
        assert made[name] == value, name
    assert walk.capacity_kept


@settings(max_examples=80)
@given(limited())
def test_agents_and_replicas_that_are_short_are_as_in_the_walk(job: Job) -> None:
    expected = Walk(job).run()
    made = run(job).as_json()
    for name, value in expected.items():
        assert made[name] == value, name


def begun_and_left(schedule: Schedule) -> tuple[np.ndarray, np.ndarray]:
    left = schedule.left[schedule.group]
    is_begun = schedule.begun >= 0
    return schedule.begun[is_begun], np.where(left < 0, schedule.end, left)[is_begun]


@given(jobs())
def test_causes_add_up_to_the_end(job: Job) -> None:
    schedule = run(job)
    assert (schedule.replica_ticks.sum(axis=1) == schedule.end).all()
    whole = 0 if job.placement == "colocated" else schedule.end
    assert schedule.trainer_ticks.sum() == whole
    assert schedule.tokens == schedule.piece_tokens.sum()


@given(jobs())
def test_little_holds_on_the_clock(job: Job) -> None:
    schedule = run(job)
    begun, left = begun_and_left(schedule)
    edges = np.unique(np.concatenate([begun, left, [schedule.end]]))
    inside = np.array([(begun <= at).sum() - (left <= at).sum() for at in edges[:-1]])
    assert schedule.begun_not_left == int(inside @ np.diff(edges))
    assert schedule.begun_not_left == int((left - begun).sum())


@given(jobs())
def test_little_holds_on_the_clock_of_versions(job: Job) -> None:
    """Staleness adds up to those in the system, of those trained, at each arrival of a version."""
    job = job.replace(groups_per_minibatch=job.groups_per_step)
    schedule = run(job)
    step = schedule.step[schedule.group]
    inside = sum(
        int(((schedule.begun < at) & (step > number)).sum())
        for number, at in enumerate(schedule.ended)
    )
    assert int(schedule.stale.sum()) == inside


@given(jobs("async", order="submitted", feed="capacity", max_age=None))
def test_groups_in_order_are_never_staler_than_the_bound(job: Job) -> None:
    assert job.staleness is not None
    stale = run(job).stale
    assert not stale.size or stale.max() <= job.staleness


@given(jobs("async", order="accepted", feed="capacity", max_age=None))
def test_groups_are_staler_than_the_bound_by_those_that_overtake_them(job: Job) -> None:
    assert job.staleness is not None
    schedule = run(job)
    trained, sizes = schedule.minibatch_groups, np.diff(job.groups.begin)
    overtook = np.array([(trained[:at] > group).sum() for at, group in enumerate(trained)], int)
    bound = job.staleness - -overtook // job.groups_per_minibatch
    assert (schedule.stale <= np.repeat(bound, sizes[trained])).all()


@given(jobs("async", feed="buffer", max_age=2))
def test_no_mini_batch_begins_a_step_with_a_group_beyond_its_age(job: Job) -> None:
    assert job.max_age is not None
    schedule = run(job)
    for at in np.flatnonzero(np.diff(schedule.minibatch_step, prepend=-1)):
        stale = schedule.stale[schedule.stale_begin[at] : schedule.stale_begin[at + 1]]
        assert stale.max() <= job.max_age


@given(jobs("sync", placement="split", switch=0, order="submitted", refill="one"))
def test_asynchronous_without_staleness_is_synchronous(job: Job) -> None:
    job = job.replace(groups_per_minibatch=job.groups_per_step)
    other = job.replace(loop="async", staleness=0, max_concurrent=job.groups_per_step)
    assert run(other).as_json() == run(job).as_json()


@given(groups(), st.integers(1, 9), st.integers(1, 3), st.integers(1, 3))
def test_constant_iterations_are_list_scheduling(
    made: Groups, tau: int, replicas: int, seats: int
) -> None:
    machines = [(0, at) for at in range(replicas * seats)]
    heapify(machines)
    begun, finished = [], []
    for output in made.output.tolist():
        free, at = machines[0]
        begun.append(free)
        finished.append(free + output * tau)
        heapreplace(machines, (finished[-1], at))
    job = Job(
        groups=made,
        iteration=Ticks(tau),
        replicas=replicas,
        seats=seats,
        groups_per_step=len(made),
        groups_per_minibatch=len(made),
    )
    schedule = run(job)
    assert (schedule.begun.tolist(), schedule.finished.tolist()) == (begun, finished)


@given(jobs("sync", steps=1))
def test_generation_is_not_shorter_than_its_bounds(job: Job) -> None:
    schedule = run(job)
    law, output = job.iteration, job.groups.output[: len(schedule.group)]
    least = law.per_iteration + law.per_token
    last = schedule.finished.max()
    assert last >= output.max() * least
    assert last * job.replicas >= law.per_token * output.sum()


@given(jobs())
def test_a_phase_may_be_a_curve(job: Job) -> None:
    knots = (0, 1000, 2000)

    def curve(law: Law) -> Curve:
        ticks = tuple(float(law.base + law.per_token * at) for at in knots)
        return Curve(knots, ticks, law.per_square)

    other = job.replace(logp=curve(job.logp), ref=curve(job.ref), train=curve(job.train))  # type: ignore[arg-type]
    assert run(other).as_json() == run(job).as_json()


@given(jobs())
def test_limits_that_do_not_bind_change_nothing(job: Job) -> None:
    wide = job.replace(kv_tokens=10**6, iteration_tokens=10**6)
    assert run(wide).as_json() == run(job).as_json()


PLAIN = Job(groups=Groups.of([(1, [(2, 0)])]), iteration=Ticks(1))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"loop": "asynch"}, "loop: nothing is named 'asynch'; did you mean 'async'?"),
        ({"kv": None}, "kv: nothing is named None"),
        ({"loop": "async", "feed": "capacitor"}, "feed: nothing is named 'capacitor'; did you me"),
        ({"loop": "async", "max_concurrent": 1}, "staleness: is not given; the loop 'async' needs"),
        ({"loop": "k-off"}, "k: is not given; the loop 'k-off' needs it"),
        ({"seats": 0}, "seats: expected a whole number from 1, got 0"),
        ({"refit": 1.5}, "refit: expected whole ticks from 0, got 1.5"),
        ({"max_age": -1}, "max_age: expected a whole number from 0, got -1"),
        ({"groups_per_minibatch": 2}, "groups_per_minibatch: expected a divisor of groups_per_ste"),
        ({"loop": "k-off", "k": 1, "placement": "colocated"}, "placement: replicas and trainer sh"),
        ({"loop": "k-off", "k": 1, "refill": "round"}, "refill: rounds are for sync"),
        ({"groups": Groups.of([])}, "groups: there are none; expected at least one"),
        ({"kv_tokens": 2}, "kv_tokens: expected at least the 3 tokens of sample 0, got 2"),
        ({"seats": 9, "iteration_tokens": 8}, "iteration_tokens: expected at least one for each"),
        ({"iteration": Ticks(0)}, "iteration: takes no time; expected an iteration of at least"),
        ({"iteration": Linear(0.0)}, "iteration: takes no time"),
        ({"iteration": Ticks(-1)}, "iteration.per_iteration: expected whole ticks from 0, got -1"),
        ({"logp": Law(0, -1)}, "logp.per_token: expected whole ticks from 0, got -1"),
        ({"train": Curve((1, 1), (0, 0))}, "train.tokens: expected rising knots from 0, got [1, 1"),
        ({"train": Curve((1,), ())}, "train: expected a time for each of some knots"),
        ({"train": Curve((1,), (float("nan"),))}, "train.ticks: expected times from 0"),
        ({"train": Law(2**61, 2**61)}, "job: takes more than 2**63 - 1 ticks"),
    ],
)
def test_a_job_that_cannot_be_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        run(PLAIN.replace(**changes))
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0, [(1, 0)])], "groups.prompt[0]: expected 1 to 2,147,483,647, got 0"),
        ([(1, [])], "groups.sizes[0]: expected 1 to 2,147,483,647, got 0"),
        ([(1, [(1, 0), (0, 0)])], "groups.output[1]: expected 1 to 2,147,483,647, got 0"),
        ([(1, [(1, -1)])], "groups.reward[0]: expected 0 to "),
        ([(1, [(1, 0.5)])], "groups.reward: expected a list of whole numbers"),
        ([(1, [(3, 0, [(1, 2, 3), (1, 0)])])], "groups.turns[0]: expected turns of 3 tokens, as"),
        ([(1, [(1,)])], "groups[0].samples[0]: expected [tokens, ticks of the reward, turns if s"),
        ([(1, 5)], "groups[0].samples: expected a list of [tokens, ticks of the reward"),
        ([(1, [(3, 0, [5])])], "groups[0].samples[0]: expected turns of [tokens, ticks of the to"),
        ([(1, [(3, 0, [])])], "groups.turns: expected some for each of 1 samples, got [0]"),
    ],
)
def test_groups_that_cannot_be_are_named(rows: list[Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        Groups.of(rows)
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"config": {"seat": 2}}, "config.seat: nothing has this name; did you mean 'seats'?"),
        ({"cost": {"per_iter": 2}}, "cost.per_iter: nothing has this name"),
        ({"cost": {"train": {"bas": 2}}}, "cost.train.bas: nothing has this name; did you mean"),
        ({"config": 7}, "config: expected a map, got 7"),
        ({"loops": "sync"}, "loops: nothing has this name; did you mean 'loop'?"),
        ({"groups": 7}, "groups: expected a list of groups, got 7"),
        ({"groups": [{"samples": []}]}, "groups[0].prompt: is not given"),
    ],
)
def test_a_wrong_member_of_a_file_is_named(changes: dict[str, Any], said: str) -> None:
    row = {"prompt": 1, "samples": [[1, 0]]}
    tree: dict[str, Any] = {"loop": "sync", "placement": "split", "config": {}, "groups": [row]}
    tree["cost"] = {"per_iteration": 1}
    assert run(of_json(tree)).status == "ok"
    with pytest.raises(ConfigError) as error:
        run(of_json(tree | changes))
    assert str(error.value).startswith(said)
