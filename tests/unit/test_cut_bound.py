"""No schedule beats the cut bound: it equals the worst of all cuts, tried one by one."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations

import pytest

from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.collectives.schedule import Kind
from yantra.collectives.synthesis.bound import BOUNDED, Fabric, bound
from yantra.fabric.graphs.cut_bounds import cut_bounds
from yantra.fabric.graphs.draft import Draft


def exit_rate(fabric: Fabric, inside: frozenset[int]) -> Fraction:
    """The rate at which a set of devices can let out."""
    links = ((start in inside, end in inside, rate) for start, end, rate in fabric.links)
    return sum((rate for start, end, rate in links if start and not end), Fraction(0))


def by_all_cuts(kind: Kind, fabric: Fabric) -> Fraction:
    """The bound by its definition: ns for a byte, the largest over all sets of devices."""
    n, worst = fabric.ranks, Fraction(0)
    ranks = frozenset(range(n))
    for size in range(1, fabric.devices):
        for chosen in combinations(range(fabric.devices), size):
            inside = frozenset(chosen)
            here = len(inside & ranks)
            if not 0 < here < n:
                continue
            needs: dict[Kind, Fraction] = {
                Kind.ALL_GATHER: Fraction(here),
                Kind.REDUCE_SCATTER: Fraction(n - here, n),
                Kind.ALL_REDUCE: Fraction(1),
                Kind.BROADCAST: Fraction(0 in inside),
            }
            worst = max(worst, needs[kind] / exit_rate(fabric, inside))
    if kind is Kind.ALL_REDUCE:
        sending = sum((rate for start, _, rate in fabric.links if start < n), Fraction(0))
        worst = max(worst, 2 * (n - 1) / sending)
    return worst


def is_connected(fabric: Fabric) -> bool:
    """Whether rank 0 reaches all devices and all reach it."""
    for links in (fabric.links, fabric.reversed().links):
        seen = {0}
        for _ in range(fabric.devices):
            seen |= {end for start, end, _ in links if start in seen}
        if len(seen) < fabric.devices:
            return False
    return True


def drawn(seed: int, devices: int) -> Fabric:
    """A directed graph with random rates and up to 3 switches."""
    of = random.Random(seed)
    ranks = devices - of.randint(0, 3)
    while True:
        density = of.uniform(0.3, 0.9)
        links = tuple(
            (start, end, Fraction(of.randint(1, 12), of.randint(1, 4)))
            for start in range(devices)
            for end in range(devices)
            if start != end and of.random() < density
        )
        if links and is_connected(fabric := Fabric(ranks, devices, links)):
            return fabric


@pytest.mark.parametrize("nodes", [2, 3, 4])
@pytest.mark.parametrize("kind", BOUNDED)
def test_the_bound_is_the_worst_cut_of_every_small_graph(kind: Kind, nodes: int) -> None:
    cables = list(combinations(range(nodes), 2))
    for chosen in range(1, 1 << len(cables)):
        pairs = [cable for at, cable in enumerate(cables) if chosen >> at & 1]
        links = tuple((*way, Fraction(1)) for pair in pairs for way in (pair, pair[::-1]))
        fabric = Fabric(nodes, nodes, links)
        if is_connected(fabric):
            assert bound(kind, fabric).ns_per_byte == by_all_cuts(kind, fabric)


@pytest.mark.parametrize("devices", [7, 8])
@pytest.mark.parametrize("kind", BOUNDED)
def test_the_bound_is_the_worst_cut_of_directed_graphs_with_switches(
    kind: Kind, devices: int
) -> None:
    for seed in range(40):
        fabric = drawn(seed, devices)
        assert bound(kind, fabric).ns_per_byte == by_all_cuts(kind, fabric), f"seed {seed}"


def test_the_limit_is_a_set_whose_links_give_the_bound() -> None:
    for seed in range(40):
        fabric = drawn(seed, 7)
        found = bound(Kind.ALL_GATHER, fabric)
        inside = sum(device < fabric.ranks for device in found.limit)
        assert found.ns_per_byte == inside / exit_rate(fabric, found.limit)


def test_a_ring_is_bounded_as_its_closed_forms_say() -> None:
    n, rate = 8, Fraction(50)
    ways = [(rank, (rank + step) % n, rate) for rank in range(n) for step in (1, -1)]
    ring = Fabric(n, n, tuple(ways))
    assert bound(Kind.ALL_GATHER, ring).ns_per_byte == (n - 1) / (2 * rate)
    assert bound(Kind.REDUCE_SCATTER, ring).ns_per_byte == Fraction(n - 1, n) / (2 * rate)
    assert bound(Kind.ALL_REDUCE, ring).ns_per_byte == Fraction(2 * (n - 1), n) / (2 * rate)
    assert bound(Kind.BROADCAST, ring).ns_per_byte == 1 / (2 * rate)


def test_what_has_no_bound_is_refused() -> None:
    fabric = Fabric(2, 2, ((0, 1, Fraction(1)), (1, 0, Fraction(1))))
    with pytest.raises(ValueError, match="no bound of barrier"):
        bound(Kind.BARRIER, fabric)


def test_the_command_tells_time_and_limit(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["collective", "bound", "ring", "--set", "ranks=8", "--set", "bandwidth=50 GB/s"]
    assert main([*line, "--size", "8 MB"]) == 0
    shown = capsys.readouterr().out
    # 7/8 of 8 MB come in over two links of 50 GB/s.
    assert "all_gather" in shown
    assert "70.000 us" in shown


def test_what_has_no_answer_in_time_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collective", "bound", "torus", "--set", "sizes=[8,8,8]"]) == 3
    assert "would take minutes to bound" in capsys.readouterr().err


@pytest.mark.parametrize(("ranks", "told"), [(1, "at least 2 ranks"), (3, "do not reach")])
def test_ranks_that_nothing_joins_are_refused(ranks: int, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        cut_bounds(Draft(ranks).graph(), "alone", 1)
