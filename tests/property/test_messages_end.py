"""A job that ends on one network ends on all; who has which number changes no time of packets."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.message_jobs import message_job, on_network, renumbered
from yantra.base.fields import Plugin, PluginChoice
from yantra.compile import compile
from yantra.network import names
from yantra.result import Result
from yantra.run.simulate import run

ROOT = Path(__file__).parents[2]
REFERENCE = Plugin(
    kind="external",
    options={"command": (sys.executable, str(next((ROOT / "adapters/python").glob("*.py"))))},
)
CORE = tuple(name for name in names() if name not in ("external", "noc"))
PRESETS = ("dcqcn", "hpcc95", "swift", "uec", "cubic", "static_window")
KINDS = ("ring", "switch", "fully_connected")

seeds = st.integers(0, 2**48)


def _time_ns(scenario_of: Random, network: PluginChoice, kernels: bool) -> Result:
    ranks = scenario_of.randint(2, 5)
    dimension = (
        scenario_of.choice(KINDS),
        ranks,
        scenario_of.choice((1.0, 12.5, 50.0)),
        scenario_of.choice((0.0, 20.0, 500.0, 3000.0)),
    )
    job = message_job(scenario_of, ranks, scenario_of.randint(1, 12), kernels=kernels)
    return run(compile(on_network(job, network, dimension)))


@given(seeds, st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_job_that_ends_on_one_network_ends_on_all(seed: int, kernels: bool) -> None:
    for network in CORE:
        assert _time_ns(Random(seed), network, kernels).makespan_ns > 0


@given(seeds, st.sampled_from(PRESETS))
@settings(max_examples=60, deadline=None)
def test_a_job_ends_under_every_congestion_control(seed: int, preset: str) -> None:
    network = Plugin(kind="packet", options={"preset": preset})
    assert _time_ns(Random(seed), network, False).makespan_ns > 0


@given(seeds)
@settings(max_examples=8, deadline=None)
def test_a_job_ends_on_a_network_that_is_a_program(seed: int) -> None:
    assert _time_ns(Random(seed), REFERENCE, True).makespan_ns > 0


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_a_job_takes_the_same_time_recorded_and_unfolded(seed: int) -> None:
    random = Random(seed)
    ranks = random.randint(2, 5)
    job = message_job(random, ranks, 12, kernels=True)
    model = compile(on_network(job, "packet", ("switch", ranks, 12.5, 500.0)))
    plain = run(model, fold="off")
    assert run(model, fold="off", record=True).makespan_ns == plain.makespan_ns
    assert run(model).makespan_ns == plain.makespan_ns
    assert max(plain.links["busy_ns"]) <= plain.makespan_ns


def _agree(seed: int, number_of: list[int], *dimensions: tuple[str, int, float, float]) -> None:
    job = message_job(Random(seed), len(number_of), 2 * len(number_of), kernels=seed % 2 == 0)
    one = run(compile(on_network(job, "packet", *dimensions))).makespan_ns
    other = run(compile(on_network(renumbered(job, number_of), "packet", *dimensions))).makespan_ns
    assert other == pytest.approx(one, rel=1e-3)


@given(seeds, st.integers(3, 8), st.data())
@settings(max_examples=60, deadline=None)
def test_ranks_of_a_ring_may_be_rotated(seed: int, ranks: int, data: st.DataObject) -> None:
    by = data.draw(st.integers(1, ranks - 1))
    _agree(seed, [(rank + by) % ranks for rank in range(ranks)], ("ring", ranks, 12.5, 500.0))


@given(seeds, st.integers(2, 4), st.integers(2, 4), st.integers(0, 3), st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_ranks_of_a_torus_may_be_rotated(seed: int, a: int, b: int, by: int, also: int) -> None:
    number_of = [(rank % a + by) % a + a * ((rank // a + also) % b) for rank in range(a * b)]
    _agree(seed, number_of, ("ring", a, 50.0, 20.0), ("ring", b, 12.5, 500.0))


@given(seeds, st.permutations(range(6)))
@settings(max_examples=60, deadline=None)
def test_ranks_of_a_switch_may_be_permuted(seed: int, number_of: list[int]) -> None:
    _agree(seed, list(number_of), ("switch", 6, 12.5, 500.0))
