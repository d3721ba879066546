"""Terms of collectives: what their hops and bytes are, and that fits give terms back."""

from __future__ import annotations

from math import log, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.collectives.fit import ALIKE, USUAL, Measured, fitted, width_of
from yantra.collectives.selection.measured import fits
from yantra.collectives.terms import (
    FACTORS,
    Term,
    crossing,
    hops,
    points,
    taken,
    usual,
    wire,
)

KINDS = tuple(FACTORS)
RING = Term("Ring", "Simple", 10.0, 1.0, 1e5)
NVLS = Term("NVLS", "Simple", 40.0, 0.0, 1e5)
TREE = Term("Tree", "LL", 10.0, 5.0, 1e4)
SIZES = [2.0**k for k in range(10, 31)]


@given(st.sampled_from(KINDS), st.integers(2, 512), st.integers(0, 4), st.integers(10, 33))
def test_more_bytes_never_take_less(kind: str, local: int, doubled: int, power: int) -> None:
    nodes = 2**doubled
    terms = usual(kind, nodes > 1, True)
    us = taken(terms, points(kind, local * nodes, nodes, [2.0**power, 2.0**power + 1, 2.0**34]))[0]
    assert us[0] <= us[1] <= us[2]


@given(st.sampled_from(KINDS), st.integers(2, 64), st.sampled_from([1, 2, 8]))
def test_the_time_is_the_least_of_the_terms(kind: str, local: int, nodes: int) -> None:
    terms = usual(kind, nodes > 1, True)
    at = points(kind, local * nodes, nodes, SIZES)
    us, best = taken(terms, at)
    each = np.array([taken([term], at)[0] for term in terms])
    assert np.all(us == each.min(axis=0))
    assert np.all(us == each[best, np.arange(len(SIZES))])


def test_switches_take_as_long_for_any_ranks_up_to_a_share() -> None:
    for ranks in (4, 8, 72):
        assert wire(NVLS, points("all_reduce", ranks, 1, [1e6]))[0] == 1e6 * (1 + 1 / ranks)
        assert hops(NVLS, points("all_reduce", ranks, 1, [1e6]))[0] == 0


def test_a_ring_in_a_node_takes_every_rank_in_turn_and_an_all_reduce_twice() -> None:
    for kind, times in (("all_reduce", 2), ("all_gather", 1)):
        at = points(kind, 8, 1, [8e6])
        assert hops(RING, at)[0] == times * 7
        assert wire(RING, at)[0] == pytest.approx(times * 7e6 + 0.5e6)


def test_hops_beyond_what_was_measured_grow_with_the_logarithm() -> None:
    few, many = points("all_gather", 8, 1, [1.0]), points("all_gather", 72, 1, [1.0])
    assert hops(RING, many)[0] == pytest.approx(7 + 8 * log(9))
    assert hops(RING, few._replace(most=4))[0] == pytest.approx(3 + 4 * log(2))


def test_over_nodes_a_tree_takes_the_logarithm_and_a_ring_every_node() -> None:
    at = points("all_reduce", 128, 16, [1.0])
    assert hops(TREE, at)[0] == log2(16)
    assert hops(RING, at)[0] == 16
    assert hops(RING, points("all_gather", 128, 16, [1.0]))[0] == 8


def test_a_crossing_is_counted_with_eight_ranks_a_node() -> None:
    for protocol in ("LL", "LL128", "Simple"):
        one, eight = (float(crossing(protocol, np.array(local))) for local in (1.0, 8.0))
        assert eight == 1 and 0 < one < 1


def test_only_what_leaves_the_node_of_an_all_to_all_crosses() -> None:
    sends = RING._replace(algorithm="Sends")
    assert wire(sends, points("all_to_all", 32, 4, [32.0]))[0] == 24
    assert wire(sends, points("all_to_all", 32, 4, [32.0], once=0.5))[0] == 12


@pytest.mark.parametrize("system", ["a100", "h100", "b200"])
def test_a_fit_to_times_of_terms_gives_the_times_back(system: str) -> None:
    true = fits()[system, "all_gather", "node"].terms
    runs = []
    for ranks in (2, 4, 8):
        at = points("all_gather", ranks, 1, SIZES)
        runs.append(Measured(at, taken(true, at)[0]))
    made = fitted(usual("all_gather", False, False), runs)
    between = points("all_gather", 8, 1, [1.4 * size for size in SIZES])
    off = taken(made, between)[0] / taken(true, between)[0] - 1
    assert np.abs(off).max() < 0.05


def test_without_times_a_fit_is_what_it_is_drawn_to() -> None:
    prior = usual("all_gather", False, False)
    at = points("all_gather", 8, 1, [1024.0])
    runs = [Measured(at, taken(prior, at)[0])]
    for width in (USUAL, ALIKE):
        made = fitted(prior, runs, width)
        for one, other in zip(made, prior, strict=True):
            assert one[2:] == pytest.approx(other[2:], rel=0.02)


def test_times_measured_twice_count_as_one() -> None:
    at = points("all_gather", 8, 1, SIZES)
    us = np.linspace(10, 1000, len(SIZES))
    twice = Measured(points("all_gather", 8, 1, [*SIZES, *SIZES]), np.concatenate([us, us]))
    assert twice.weights().sum() == pytest.approx(len(SIZES))
    prior = usual("all_gather", False, False)
    for one, other in zip(fitted(prior, [twice]), fitted(prior, [Measured(at, us)]), strict=True):
        assert one[2:] == pytest.approx(other[2:], rel=1e-3)


def test_a_size_that_took_far_longer_than_a_larger_one_counts_nothing() -> None:
    us = np.linspace(10, 1000, len(SIZES))
    us[0] = 9 * us[1]
    seen = Measured(points("all_reduce", 64, 8, SIZES), us)
    assert list(seen.weights()) == [0.0] + [1.0] * (len(SIZES) - 1)
    prior = usual("all_reduce", True, False)
    width = width_of("nodes", alike=False)
    without = Measured(points("all_reduce", 64, 8, SIZES[1:]), us[1:])
    for one, other in zip(
        fitted(prior, [seen], width), fitted(prior, [without], width), strict=True
    ):
        assert one[2:] == pytest.approx(other[2:])


@pytest.mark.parametrize("slower", [0.5, 2.0, 6.0])
def test_other_numbers_of_nodes_follow_from_one_where_only_the_network_differs(
    slower: float,
) -> None:
    prior = usual("all_reduce", True, False)
    true = [one._replace(step_us=one.step_us * slower) for one in prior]
    small = SIZES[:8]
    seen = points("all_reduce", 16, 2, small)
    made = fitted(prior, [Measured(seen, taken(true, seen)[0])], width_of("nodes", alike=False))
    more = points("all_reduce", 128, 16, small)
    assert taken(made, more)[0] == pytest.approx(taken(true, more)[0], rel=0.12)


def test_fits_are_the_same_every_time() -> None:
    at = points("all_reduce", 8, 1, SIZES)
    run = Measured(at, np.linspace(10, 1000, len(SIZES)))
    prior = usual("all_reduce", False, True)
    assert fitted(prior, [run]) == fitted(prior, [run])
