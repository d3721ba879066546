"""How many devices a budget or a power pays for, and neighbouring sizes that are better."""

from __future__ import annotations

from typing import Any

import pytest

from yantra.base.errors import CapacityError, ConfigError
from yantra.explore.answers.best import best_plans
from yantra.explore.answers.sizes import best_time, most_devices, nearest_sizes, sized
from yantra.explore.closed_form.passes import Works
from yantra.explore.closed_form.space import PlanSpace
from yantra.fabric import clusters
from yantra.fabric.clusters.ownership import rates_of
from yantra.workloads.models.catalogue import find

CLUSTER = clusters.load("hgx-h100")
MODEL = find("llama3-8b")
WORKS = Works(MODEL, MODEL.sequence)
SPACE = PlanSpace(ranks=1, global_batch=60)


@pytest.mark.parametrize("devices", [1, 7, 64, 1000])
def test_a_budget_pays_for_as_many_devices_as_it_costs(devices: int) -> None:
    rates = rates_of(CLUSTER)
    assert rates.usd_per_h is not None and rates.power_w is not None
    each = (rates.power_w + 350.0) * rates.pue  # with its host's share
    assert most_devices(CLUSTER, usd_per_h=devices * rates.usd_per_h) == devices
    assert most_devices(CLUSTER, power_w=(devices + 0.9) * each) == devices
    both = most_devices(CLUSTER, devices * rates.usd_per_h, 2 * devices * each)
    assert both == devices


def test_what_pays_for_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="--power: pays for less than one device of hgx-h100"):
        most_devices(CLUSTER, power_w=100.0)
    with pytest.raises(ConfigError, match="--budget: hgx-h100 states no price; give --price"):
        most_devices(CLUSTER.replace(price=None, capital=None), usd_per_h=100.0)
    with pytest.raises(CapacityError, match="8 devices of hgx-h100 have no plan that fits"):
        large = find("llama3-405b")
        sized(large, CLUSTER, SPACE, Works(large, 8192), "roofline", power_w=8 * 1050.0)


def test_the_size_of_a_budget_is_the_fastest_that_it_pays_for() -> None:
    price = rates_of(CLUSTER).usd_per_h or 0.0
    found = sized(MODEL, CLUSTER, SPACE, WORKS, "roofline", usd_per_h=30.5 * price).ranks
    bounded = SPACE.replace(most_tp=8)
    times = {
        size: best_time(MODEL, CLUSTER, bounded, size, WORKS, "roofline")
        for size in (8, 16, 20, 24, 30)
        if size < 8 or size % 8 == 0
    }
    assert found in times and times[found] == min(times.values())


def test_a_size_without_plans_names_the_next_ones_that_have_some() -> None:
    space = PlanSpace(ranks=63, global_batch=256, most_tp=8)
    assert list(nearest_sizes(MODEL, CLUSTER, space)) == [56, 64]
    assert all(space.replace(ranks=size).columns(MODEL) for size in (56, 64))
    assert not any(space.replace(ranks=size).is_legal(MODEL) for size in (57, 59, 61, 63))
    with pytest.raises(ConfigError, match=r"on 63 ranks .*, the nearest with plans are 56 and 64:"):
        best_plans(MODEL, CLUSTER, space)
    with pytest.raises(ConfigError, match=r"on 64 ranks .*, nor on any near: ranks: 64 are no"):
        best_plans(MODEL, CLUSTER, space.replace(ranks=64, tp=(3,)))


def test_a_better_neighbour_is_told() -> None:
    """Of 104 devices a batch of 120 can use 13 stages at least; 96 devices use twelve replicas."""
    space = PlanSpace(ranks=104, global_batch=120, sequence=2048)
    found = best_plans(MODEL, CLUSTER, space, stack="roofline", refined=False, top=1)
    better = {one.ranks: one.time_ns for one in found.neighbours}
    assert better[96] < found.ranked[0].time_ns
    ninety_six = best_plans(
        MODEL, CLUSTER, space.replace(ranks=96), stack="roofline", refined=False, top=1
    )
    assert ninety_six.ranked[0].time_ns == pytest.approx(better[96], rel=0.02)
    assert 104 not in {one.ranks for one in ninety_six.neighbours}


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        ({"tp": (3,)}, "tp: 32 attention heads are not divisible by 3"),
        ({"ep": (8,)}, "ep: llama3-8b has no experts"),
        ({"micro_batch": (128,)}, "micro_batch: a global batch of 64 is no multiple of 128"),
        ({"pp": (5,)}, "ranks: 8 are no multiple of tp x cp x pp = 5"),
    ],
)
def test_a_choice_without_plans_says_which_rule_it_breaks(chosen: dict[str, Any], why: str) -> None:
    space = PlanSpace(ranks=8, global_batch=64, **chosen)
    with pytest.raises(ConfigError) as refused:
        best_plans(find("llama3-8b"), "hgx-h100", space)
    assert why in str(refused.value)


@pytest.mark.parametrize("tokens", [0, -1])
def test_a_sequence_has_a_token(tokens: int) -> None:
    with pytest.raises(ConfigError, match="sequence: expected a whole number of 1 to"):
        PlanSpace(ranks=8, global_batch=64, sequence=tokens)


def test_the_best_wins_among_several_however_few_are_shown() -> None:
    space = PlanSpace(ranks=8, global_batch=16, sequence=2048)
    (only,) = best_plans(find("llama3-8b"), "hgx-h100", space, top=1).ranked
    assert only.sure is not None and only.sure.wins < 0.95
