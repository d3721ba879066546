"""What equal utility tells: families apart are found until a tolerance closes half their gap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.synth.synth_jobs import seen
from yantra.synth.clusters import CLUSTERS, run_on
from yantra.synth.settings import Settings
from yantra.synth.told import by_sums, by_utility, told

SMALL = Settings(4, tp=2, dp=2, micro_batches=2, sequence=512)
APART = [[{"a": float(n), "b": 2.0}] * 2 for n in range(4)]  # octaves


def test_families_apart_are_found_and_equal_ones_by_chance() -> None:
    assert told(APART, 0.0) == told(APART, 0.0, misled=True) == 1
    assert told([APART[0]] * 4, 0.0) == 1 / 4


@given(st.floats(0.01, 0.49))
def test_what_moves_less_than_half_the_gap_is_found(octaves: float) -> None:
    assert told(APART, 2**octaves - 1, misled=True) == 1
    assert told(APART, 2 ** (octaves / 2) - 1) == 1  # both sides move


@given(st.floats(0.51, 3.0))
def test_what_moves_more_can_mislead_in_all(octaves: float) -> None:
    assert told(APART, 2**octaves - 1, misled=True) == 0


def test_utility_is_makespans_exposed_communication_and_bytes_over_the_first_makespan() -> None:
    job = seen("llama3-8b", SMALL)
    runs = [run_on(cluster, job) for cluster in CLUSTERS]
    numbers = by_utility(job)
    assert numbers["makespan 0"] == 0
    assert 2 ** numbers["makespan 2"] == pytest.approx(runs[2].makespan_ns / runs[0].makespan_ns)
    assert 2 ** numbers["exposed 1"] == pytest.approx(runs[1].exposed_ns / runs[0].makespan_ns)
    assert sum(name.startswith("stage 0") for name in numbers) >= 2


def test_sums_are_of_all_nodes_of_a_class() -> None:
    job = seen("llama3-8b", SMALL)
    sent = [node.get("comm_size") for node in job.traces[0] if node.get("comm_type") == 0]
    assert 2 ** by_sums(job)["all_reduce"] == pytest.approx(
        sum(int(str(n)) for n in sent), rel=1e-3
    )
