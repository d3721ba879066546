"""Percentiles, promises, capacity, drafts, imbalance, and the texts that say them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.serving.capacity import capacity
from yantra.serving.drafts import accepted, mean_emitted
from yantra.serving.fleet import Fleet, Linear, Pool
from yantra.serving.imbalance import imbalance_of, of_loads
from yantra.serving.measures import (
    Objective,
    is_overloaded,
    kept,
    nearest_rank,
    spread,
    still_rises,
)
from yantra.serving.pools import pool_of
from yantra.serving.requests import Requests, load
from yantra.serving.scaling import Scaling
from yantra.serving.serve import serve

VALUES = st.lists(st.floats(0, 1e6), min_size=1, max_size=60)


@given(VALUES, st.floats(0.1, 100))
def test_a_percentile_is_the_nearest_rank_upward(values: list[float], percentile: float) -> None:
    found = nearest_rank(np.array(values), percentile)
    below = sum(value <= found for value in values)
    assert found in values
    assert below >= percentile / 100 * len(values) - 1e-9
    assert sum(value < found for value in values) < percentile / 100 * len(values) + 1e-9


@given(VALUES)
def test_weights_are_repetitions(values: list[float]) -> None:
    column = np.array(values)
    times = np.arange(1, len(column) + 1)
    repeated = np.repeat(column, times)
    for percentile in (50.0, 90.0, 99.0):
        assert nearest_rank(column, percentile, times) == nearest_rank(repeated, percentile)
    assert spread(column, times).mean == pytest.approx(repeated.mean(), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "percentile", "seconds"),
    [("p99 500 ms", 99.0, 0.5), ("mean 50 ms", None, 0.05), ("2 s", 99.0, 2.0)],
)
def test_a_promise_reads_as_it_is_said(text: str, percentile: float | None, seconds: float) -> None:
    assert Objective.of("ttft", text, "--ttft") == ("ttft", percentile, seconds)


@pytest.mark.parametrize("text", ["p99", "soon", "p99 -5 ms", "5"])
def test_a_promise_without_a_time_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match="--ttft"):
        Objective.of("ttft", text, "--ttft")


def fleet(**options: float) -> Fleet:
    return Fleet((Pool("vllm", {"num_blocks": 4096} | options, Linear(5e-3, 20e-6, 1e-7)),))


def test_goodput_counts_requests_that_keep_every_promise() -> None:
    ran = fleet().run(load("poisson:rate=20/s,count=200,isl=500,osl=1,seed=1"))
    promise = Objective("ttft", 99.0, float(np.median(ran.ttft_s)))
    assert kept(ran, [promise]).sum() == (ran.ttft_s <= promise.seconds).sum()
    assert kept(ran, [Objective("tpot", 99.0, 1e-9)]).all()  # one token has no gap


def test_capacity_keeps_the_promise_and_a_percent_more_does_not() -> None:
    requests = load("poisson:rate=5/s,count=400,isl=500,osl=50,seed=1")
    promise = [Objective.of("ttft", "p99 200 ms", "--ttft")]
    found = capacity(fleet(max_num_seqs=16), requests, promise)
    assert found == capacity(fleet(max_num_seqs=16), requests, promise)
    for factor, holds in ((found.factor, True), (found.factor * 1.011, False)):
        ran = fleet(max_num_seqs=16).run(requests.scaled(factor))
        assert (promise[0].value(ran) <= promise[0].seconds and not is_overloaded(ran)) is holds


def test_a_rate_beyond_what_it_serves_is_overload_and_one_below_is_not() -> None:
    for rate, overloaded in ((2, False), (200, True)):
        requests = load(f"poisson:rate={rate}/s,count=600,isl=500,osl=50,seed=1")
        assert is_overloaded(fleet(max_num_seqs=8).run(requests)) is overloaded


def test_a_trace_that_ends_while_the_load_rises_is_told() -> None:
    for count, rises in ((60, True), (4000, False)):
        served = fleet(max_num_seqs=64).run(
            load(f"poisson:rate=20/s,count={count},isl=500,osl=400,seed=1")
        )
        assert still_rises(served) == rises == (served.arriving_s < 2 * served.e2e_s.mean())
    at_once = fleet().run(load("poisson:rate=1e9/s,count=60,isl=50,osl=5,seed=1"))
    assert at_once.arriving_s < 1e-6 and still_rises(at_once)


@given(st.integers(1, 8), st.floats(0, 1), st.integers(0, 99))
def test_accepted_drafts_are_some_of_them(drafts: int, acceptance: float, seed: int) -> None:
    found = accepted(50, drafts, acceptance, seed)
    assert found.min() >= 0
    assert found.max() <= drafts
    assert found.mean() + 1 == pytest.approx(mean_emitted(drafts, acceptance), rel=0.15)


@given(st.lists(st.floats(0.01, 100), min_size=8, max_size=64), st.sampled_from([2, 4, 8]))
def test_the_fullest_rank_has_at_least_the_mean_and_at_most_all(
    loads: list[float], ranks: int
) -> None:
    factor = of_loads(loads, ranks)
    assert 1 - 1e-9 <= factor <= ranks + 1e-9


def test_a_flat_law_is_balanced_and_a_steep_one_is_not() -> None:
    assert imbalance_of("zipf:0", 64, 8) == pytest.approx(1)
    assert imbalance_of("zipf:2", 64, 8) > 3
    assert imbalance_of("1.25", 64, 8) == 1.25


@pytest.mark.parametrize("text", ["0.5", "zipf:x", "pareto:1", ""])
def test_an_imbalance_that_is_none_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match="imbalance"):
        imbalance_of(text, 64, 8)


def test_pools_read_replicas_plan_and_options() -> None:
    found = pool_of("3x tp=4,max_num_seqs=64,start=60s", "vllm", {}, "prefill")
    assert (found.replicas, found.plan.tp, found.options, found.start_s) == (
        3, 4, {"max_num_seqs": 64.0}, 60.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("max_num_seq=4", "did you mean 'max_num_seqs'"),
        ("tp", "expected name=value"),
        ("0x tp=1", "at least one replica"),
        ("enable_prefix_caching=maybe", "one of off, on"),
        ("num_blocks=0", "at least 1"),
        ("acceptance=2", "a chance from 0 to 1"),
        ("scale=2", "2 to 8"),
    ],
)
def test_a_pool_that_is_wrong_is_told(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        pool_of(text, "vllm", {}, "prefill")


def test_scaling_reads_as_it_is_said() -> None:
    found = Scaling.of("2 to 8, waiting 4, delay 60 s, idle 300 s", "scale")
    assert found == (2, 8, 4.0, 60.0, 300.0)


def test_a_served_trace_says_its_figures() -> None:
    served = serve(
        requests="poisson:rate=20/s,count=200,isl=200,osl=20,seed=1",
        cost=Linear(5e-3, 20e-6, 1e-7),
        replicas=2,
    )
    said = served.summary([Objective.of("ttft", "p99 1 s", "--ttft")])
    for part in ("2 x vllm", "200 requests", "TTFT", "TPOT", "goodput", "rests on: the given cost"):
        assert part in said
    assert sum(served.spent.values()) == pytest.approx(served.e2e.mean, rel=1e-9)
    assert served.as_dict()["requests"] == 200


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "nothing is asked"),
        ({"requests": "constant:rate=1/s,count=2,isl=1,osl=1"}, "expected a model and a cluster"),
        (
            {
                "requests": "constant:rate=1/s,count=2,isl=1,osl=1",
                "cost": Linear(1.0),
                "model": "llama3-8b",
            },
            "in place",
        ),
        (
            {
                "requests": "constant:rate=1/s,count=2,isl=1,osl=1",
                "cost": Linear(1.0),
                "prefill": "1x tp=1",
            },
            "both",
        ),
    ],
)
def test_what_does_not_fit_together_is_told(given: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        serve(**given)  # type: ignore[arg-type]


def test_no_requests_are_told() -> None:
    with pytest.raises(ConfigError, match="there are none"):
        fleet().run(Requests.of([], [], []))
