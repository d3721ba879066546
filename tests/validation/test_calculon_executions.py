"""Training steps against Calculon's (data/calculon_executions.json): the order of the plans is the
same.
"""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import pytest

from tests.validation.calculon_machine import scenario
from tests.validation.published import DATA
from yantra.run.simulate import simulate

GIVEN = json.loads((DATA / "calculon_executions.json").read_text(encoding="utf-8"))
JOBS = sorted({(row["model"], row["num_procs"]) for row in GIVEN["executions"]})
TAU = 0.9
WITHIN = 0.15
MEDIAN = 0.05
FIRST = 3


def times(job: tuple[str, int]) -> tuple[tuple[float, float], ...]:
    found = []
    for row in GIVEN["executions"]:
        if (row["model"], row["num_procs"]) == job:
            sizes, system = GIVEN["models"][row["model"]], GIVEN["systems"][row["system"]]
            ours = simulate(scenario(row, sizes, system)).makespan_ns / 1e9
            found.append((ours, row["total_time"]))
    return tuple(found)


def tau(pairs: tuple[tuple[float, float], ...]) -> float:
    signs = [(a - c) * (b - d) for (a, b), (c, d) in combinations(pairs, 2)]
    return sum((sign > 0) - (sign < 0) for sign in signs) / len(signs)


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_executions_have_calculons_order_with_its_optimum_among_our_first(
    job: tuple[str, int],
) -> None:
    pairs = times(job)
    assert len(pairs) >= 10
    assert tau(pairs) >= TAU
    assert sorted(pairs).index(min(pairs, key=lambda pair: pair[1])) < FIRST
    off = sorted(abs(ours / theirs - 1) for ours, theirs in pairs)
    assert off[-1] < WITHIN
    assert off[len(off) // 2] < MEDIAN


def test_tau_counts_pairs() -> None:
    same: Any = ((1.0, 10.0), (2.0, 20.0), (3.0, 30.0))
    assert tau(same) == 1.0
    assert tau(tuple((a, -b) for a, b in same)) == -1.0
    assert tau(((1.0, 1.0), (2.0, 3.0), (3.0, 2.0))) == pytest.approx(1 / 3)
