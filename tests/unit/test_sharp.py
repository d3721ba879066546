"""SHARP over the trees of fabrics: to the tick by its formula, and nothing sent twice."""

from __future__ import annotations

import pytest

from yantra.collectives.algorithms.sharp import Sharp
from yantra.collectives.check import find_violation
from yantra.collectives.schedule import Kind
from yantra.fabric.graphs.describe import shown
from yantra.fabric.graphs.switch_trees import trees_of
from yantra.fabric.graphs.switches import FabricSwitches
from yantra.run.collective_bench import Question, bench

SIZE = 9 * 10**6
FABRICS = (
    ("switch", {"ranks": 8, "bandwidth": "10 GB/s", "latency": "1 us"}, 1, 1),
    ("nvl72", {"ranks_per_rack": 4, "switches": 3,
               "bandwidth": "10 GB/s", "latency": "1 us"}, 1, 3),
    ("leaf_spine", {"leaves": 4, "ranks_per_leaf": 2, "spines": 2, "bandwidth": "10 GB/s",
                    "latency": "1 us", "uplink_bandwidth": "10 GB/s"}, 2, 1),
)  # fmt: skip


@pytest.mark.parametrize(("kind", "options", "levels", "trees"), FABRICS)
def test_alone_it_takes_its_formula_to_the_tick(
    kind: str, options: dict[str, object], levels: int, trees: int
) -> None:
    fabric = shown(kind, options)
    found = trees_of(fabric.graph)
    assert (len(found), {one.depth for one in found}) == (trees, {levels})
    n = fabric.graph.ranks
    placed = Sharp().on(FabricSwitches(fabric.graph, range(n)))
    assert find_violation(placed.schedule(Kind.ALL_REDUCE, n)) is None
    [row] = bench([fabric], Question(Kind.ALL_REDUCE, (SIZE,), ("sharp",)))
    assert row.time_ns == 2 * levels * (1000 + SIZE / trees / 10)


def test_without_switches_that_reach_all_it_is_refused() -> None:
    fabric = shown("torus", {"sizes": [3, 3], "bandwidth": "10 GB/s", "latency": "1 us"})
    assert trees_of(fabric.graph) == ()
    [row] = bench([fabric], Question(Kind.ALL_REDUCE, (SIZE,), ("sharp",)))
    assert "no switch of the fabric reaches all ranks" in row.refused
