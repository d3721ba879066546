"""The Pareto front equals the definition, and sensitivities keep Euler's law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.explore.answers.sensitivity import sensitivities
from yantra.explore.closed_form.space import PlanSpace
from yantra.explore.study.pareto import front
from yantra.fabric import clusters
from yantra.workloads.models.catalogue import find

tables = st.integers(2, 4).flatmap(
    lambda width: st.lists(
        st.tuples(*[st.integers(0, 6).map(float)] * width), min_size=0, max_size=40
    ).map(lambda rows: np.array(rows, dtype=float).reshape(-1, width))
)


def by_definition(points: np.ndarray) -> list[int]:
    def dominated(one: np.ndarray) -> bool:
        return any((other <= one).all() and (other < one).any() for other in points)

    return [row for row, one in enumerate(points) if not dominated(one)]


@given(points=tables, seed=st.integers(0, 99))
def test_law_3_the_front_is_that_of_the_definition_in_any_order(
    points: np.ndarray, seed: int
) -> None:
    found = front(points)
    assert found.tolist() == by_definition(points)
    order = np.random.default_rng(seed).permutation(len(points))
    assert sorted(order[front(points[order])].tolist()) == found.tolist()


def test_a_point_that_is_no_number_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected numbers"):
        front(np.array([[1.0, float("nan")]]))
    with pytest.raises(ConfigError, match="a table of points by objectives"):
        front(np.array([1.0]))


@pytest.mark.parametrize(("cluster", "ranks"), [("hgx-h100", 32), ("dgx-a100-80gb", 16)])
def test_elasticities_of_a_plan_are_rates_of_one_time(cluster: str, ranks: int) -> None:
    space = PlanSpace(ranks=ranks, global_batch=64, most_tp=8, sequence=2048, micro_batch=(1, 2))
    found = sensitivities(find("llama3-8b"), clusters.load(cluster), space)
    assert sum(one.elasticity for one in found) == pytest.approx(-1.0, abs=1e-6)
    for one in found:
        assert -1.0 - 1e-6 <= one.elasticity <= 1e-6
        assert one.above <= 1e-9 and one.below <= 1e-9
        assert abs(one.above) >= abs(one.elasticity) * 0.9 or not one.other_above
