"""What ran the collectives, and what the best possible would gain."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import cluster, collectives, scenario
from yantra.base.fields import Plugin
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.explain import explain
from yantra.explain.collectives import MOST_RANKS
from yantra.scenario import Scenario

ONE = cluster(("switch", 8, 50.0, 1000.0))
TWO = cluster(("switch", 4, 50.0, 1000.0), ("ring", 2, 25.0, 1000.0))
SIZE = 1 << 26


def one_all_reduce(trace: TraceBuilder, rank: int) -> None:
    trace.collective(CollectiveType.ALL_REDUCE, SIZE)


def told(of: Scenario) -> dict[str, Any]:
    found: dict[str, Any] = explain(of).data["collectives"]
    return found


def test_an_algorithm_that_reaches_the_bound_gains_its_latency_alone() -> None:
    found = told(scenario(ONE, one_all_reduce, collectives=collectives("ring")))
    assert found["ran"] == [{"kind": "all_reduce", "ranks": 8, "by": ["ring"]}]
    bound = 2 * 7 / 8 * SIZE / 50.0
    assert found["at_best"]["makespan_ns"] == pytest.approx(bound, rel=1e-6)
    assert found["at_best"]["gain"] == pytest.approx(28_000 / (bound + 28_000), rel=1e-3)


def test_an_algorithm_for_each_dimension_is_named_and_the_cut_between_them_counts() -> None:
    given = collectives(dimensions=2).replace(all_reduce=("halving_doubling", "ring"))
    chunks_chosen = told(scenario(TWO, one_all_reduce, collectives=given))["ran"][0]["by"]
    assert chunks_chosen[:2] == [
        "halving_doubling x ring",
        "halving_doubling x ring in 2 chunks from 590 KiB",
    ]
    found = told(scenario(TWO, one_all_reduce, collectives=given.replace(chunks=1)))
    assert found["ran"][0]["by"] == ["halving_doubling x ring"]
    assert 0 < found["at_best"]["gain"] < 1


def test_a_group_that_is_no_whole_dimension_runs_the_algorithm_that_is_told() -> None:
    given = collectives(dimensions=2).replace(all_reduce=("halving_doubling", "ring"))

    def write(trace: TraceBuilder, rank: int) -> None:
        if rank in (0, 1, 2):
            trace.collective(CollectiveType.ALL_REDUCE, SIZE, group="1")

    found = told(scenario(TWO, write, collectives=given, groups=((1, (0, 1, 2)),)))
    assert found["ran"] == [{"kind": "all_reduce", "ranks": 3, "by": ["pat"]}]
    bound = 2 * 2 / 3 * SIZE / 50.0
    assert found["at_best"]["makespan_ns"] == pytest.approx(bound, rel=1e-6)


def test_protocols_are_told_by_the_size_from_which_they_run() -> None:
    selection = Plugin(kind="measured", options=(("system", "h100"),))
    given = collectives().replace(selection=selection)
    found = told(scenario(ONE, one_all_reduce, collectives=given))
    (by,) = [row["by"] for row in found["ran"]]
    names = [text.split(" from ")[0] for text in by]
    assert names == ["Ring LL", "Ring LL128", "Ring Simple", "NVLS Simple"]
    assert found["at_best"]["gain"] >= 0  # a measurement faster than a bound stays


def test_a_run_without_collectives_or_with_too_many_ranks_has_no_bound() -> None:
    assert told(scenario(ONE, lambda trace, rank: trace.compute(duration_micros=1))) == {
        "ran": [],
        "at_best": None,
    }
    many = cluster(("switch", MOST_RANKS * 2, 50.0, 0.0))
    assert told(scenario(many, one_all_reduce))["at_best"] is None


def test_words_say_what_ran_and_what_the_best_would_gain() -> None:
    text = explain(scenario(ONE, one_all_reduce, collectives=collectives("ring"))).text()
    assert "With every collective as fast as the cuts of its network allow it would" in text
    assert "What ran the collectives\nall_reduce of 8 ranks: ring" in text
