"""Laws of lives: conservation, closed forms, and what more of something never makes worse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lives.fleets import HOSTS, fleet, lived
from yantra.explore.study.goodput import at_work, best_interval, goodput
from yantra.fabric.failures import load
from yantra.lives.draws import DAY_NS, NS, drawn
from yantra.lives.play import play
from yantra.lives.policy import NEVER, Policy

FLEETS = load("fleets")


def policies(tau: int = 300 * NS) -> st.SearchStrategy[Policy]:
    return st.builds(
        Policy,
        tau=st.integers(tau, 20 * tau),
        block=st.integers(0, tau // 10),
        save=st.integers(0, tau),
        store_every=st.integers(1, 4),
        spares=st.integers(0, 12),
        queue=st.sampled_from([NEVER, 3600 * NS]),
        groups=st.sampled_from([0, 16]),
        reconfigure=st.integers(0, 100 * NS),
        in_place=st.sampled_from([0.0, 0.3]),
        foreseen=st.sampled_from([0.0, 0.5]),
        move=st.integers(0, 60 * NS),
        notice=st.sampled_from([NEVER, 600 * NS]),
        slower=st.floats(1.0, 4.0),
    )


@settings(max_examples=25, deadline=None)
@given(policies(), st.integers(0, 10**6), st.floats(0.5, 30.0))
def test_parts_add_up_to_the_life_and_none_is_negative(
    policy: Policy, seed: int, days: float
) -> None:
    events = drawn(FLEETS, HOSTS * 4, round(days * DAY_NS), 8, seed)
    parts = play(FLEETS, events, policy).parts()
    assert (np.sum(parts, axis=0) == events.horizon).all()
    assert all((part >= 0).all() for part in parts)


@given(st.integers(1, 10**15))
@settings(max_examples=25, deadline=None)
def test_a_life_without_failures_is_the_plain_run_to_the_ns(horizon: int) -> None:
    calm = FLEETS._replace(components=())
    found = play(calm, drawn(calm, HOSTS, horizon, 3, 1), Policy())
    assert (found.useful == horizon).all()
    assert not found.counts.any()


@settings(max_examples=25, deadline=None)
@given(policies(), st.integers(0, 10**6), st.integers(1, 20))
def test_more_spares_never_lower_the_useful_time_of_any_life(
    policy: Policy, seed: int, more: int
) -> None:
    events = drawn(FLEETS, HOSTS * 4, 20 * DAY_NS, 8, seed)
    few = play(FLEETS, events, policy).useful
    many = play(FLEETS, events, policy._replace(spares=policy.spares + more)).useful
    assert (many >= few).all()


@settings(max_examples=15, deadline=None)
@given(policies(), st.integers(0, 10**6))
def test_a_shorter_restart_never_lowers_the_useful_time(policy: Policy, seed: int) -> None:
    policy = policy._replace(groups=0, foreseen=0.0)
    events = drawn(FLEETS, HOSTS * 4, 20 * DAY_NS, 8, seed)
    faster = events._replace(restart=events.restart // 2)
    gains = play(FLEETS, faster, policy).useful - play(FLEETS, events, policy).useful
    assert (gains >= 0).all()


@pytest.mark.parametrize(
    ("mean_s", "block_s", "restart_s"),
    [(11_124.0, 60.0, 300.0), (11_124.0, 300.0, 600.0), (27_000.0, 600.0, 1800.0)],
)
def test_goodput_at_the_best_interval_is_dalys(
    mean_s: float, block_s: float, restart_s: float
) -> None:
    rates = fleet(mean_s, restart_s=restart_s)
    tau = best_interval(mean_s, block_s)
    policy = Policy(tau=round(tau * NS), block=round(block_s * NS), save=round(block_s * NS))
    policy = policy._replace(queue=0)  # hosts are there at once
    events = lived(rates, 400.0)
    found = play(rates, events, policy)
    share = found.useful.mean() / events.horizon
    assert share == pytest.approx(goodput(mean_s, block_s, restart_s, tau), rel=0.01)
    works = share + found.redone.mean() / events.horizon
    assert works == pytest.approx(at_work(mean_s, block_s, restart_s, tau), rel=0.005)
    for other in (0.5, 2.0):
        worse = policy._replace(tau=round(other * tau * NS))
        assert play(rates, events, worse).useful.mean() / events.horizon < share


def test_the_best_interval_of_lives_is_the_closed_forms_within_2_percent_of_goodput() -> None:
    rates = fleet(11_124.0)
    events = lived(rates, 400.0, 32)
    times = [600.0, 900.0, 1115.7, 1400.0, 2000.0]
    shares = []
    for tau in times:
        policy = Policy(tau=round(tau * NS), block=60 * NS, save=60 * NS, queue=0)
        shares.append(play(rates, events, policy).useful.mean() / events.horizon)
    assert shares[2] >= 0.98 * max(shares)
    assert max(shares) == pytest.approx(0.875762, rel=0.02)


def test_renewal_interruptions_are_the_time_over_the_mean() -> None:
    rates = fleet(7200.0, names=("gpu", "nic"))
    events = lived(rates, 100.0, 256)
    counts = play(rates, events, Policy()).counts
    assert counts.sum(axis=0).mean() == pytest.approx(100 * 86_400 / 7200.0, rel=0.01)
    assert counts.sum(axis=0).var() == pytest.approx(1200.0, rel=0.25)  # Poisson
    assert counts[0].mean() == pytest.approx(600.0, rel=0.02)


def test_a_domain_takes_all_its_hosts() -> None:
    rates = fleet(86_400.0 * 5, hosts=4)
    events = lived(rates, 60.0, 32)
    waits = [play(rates, events, Policy(spares=spares)).waiting.sum() for spares in (0, 3, 4, 64)]
    assert waits[0] == waits[1] > waits[2] > waits[3] == 0


def test_memory_of_other_hosts_is_lost_with_a_domain_and_kept_with_a_host() -> None:
    policy = Policy(tau=60 * NS, save=NS, store_every=60, spares=500)
    redone = {}
    for hosts in (1, 4):
        rates = fleet(7200.0, hosts=hosts)
        redone[hosts] = play(rates, lived(rates, 10.0), policy).redone.mean() / DAY_NS
    assert redone[1] < 0.05 < 10 * redone[1] < redone[4]


def test_planned_interruptions_lose_no_work() -> None:
    rates = fleet(7200.0, does="planned", hosts=0)
    found = play(rates, lived(rates, 10.0), Policy(tau=600 * NS, block=6 * NS, save=6 * NS))
    assert not found.redone.any()
    assert found.restarts.all()


def test_an_elastic_job_pauses_and_misses_a_group_until_its_host_is_back() -> None:
    rates = fleet(86_400.0)
    events = lived(rates, 50.0)
    policy = Policy(tau=600 * NS, spares=400, groups=10, reconfigure=30 * NS)
    found = play(rates, events, policy)
    counts = found.counts.sum(axis=0)
    assert not found.redone.any()
    assert found.restarts.sum() == pytest.approx(counts.sum() * 30 * NS, rel=0.01)
    assert found.ragged.sum() == pytest.approx(counts.sum() * 300 * NS / 10, rel=0.01)


def test_slow_ranks_take_their_share_until_they_are_evicted() -> None:
    rates = fleet(864_000.0, does="slow", restart_s=1.0)
    events = lived(rates, 200.0)
    found = play(rates, events, Policy(notice=3600 * NS, slower=4.0, spares=99))
    slow = found.stragglers.sum() / found.counts.sum()
    assert slow == pytest.approx(0.75 * 3600 * NS, rel=0.02)
    ever = play(rates, events, Policy(notice=NEVER, slower=4.0))
    assert (ever.stragglers > 10 * found.stragglers).all()
    assert not ever.counts.any()


def test_a_life_meets_the_same_events_whatever_else_fails() -> None:
    both = lived(fleet(7200.0, names=("gpu", "nic")), 10.0, 8)
    one = lived(fleet(14_400.0, names=("gpu",)), 10.0, 8)
    for life in range(8):
        mine = both.at[(both.component[:, life] == 0) & (both.at[:, life] < both.horizon), life]
        alone = one.at[one.at[:, life] < one.horizon, life]
        assert np.array_equal(mine, alone)


def test_a_higher_rate_adds_failures_and_takes_none() -> None:
    calm, rough = (lived(fleet(mean), 10.0, 8) for mean in (14_400.0, 7200.0))
    assert ((rough.at < rough.horizon).sum(axis=0) > (calm.at < calm.horizon).sum(axis=0)).all()
    assert (rough.at[: len(calm.at)] <= calm.at).all()
