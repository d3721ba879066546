"""No schedule beats the cut bound: it equals the worst of all cuts, tried one by one."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.cli import main
from yantra.collectives.schedule import Kind
from yantra.collectives.synthesis.bound import BOUNDED, Fabric, bound
from yantra.fabric.graphs.cut_bounds import cut_bounds
from yantra.fabric.graphs.draft import Draft


def exit_rate(fabric: Fabric, inside: frozenset[int]) -> Fraction:
    links = ((start in inside, end in inside, rate) for start, end, rate in fabric.links)
    return sum((rate for start, end, rate in links if start and not end), Fraction(0))


def by_all_cuts(fabric: Fabric) -> dict[Kind, Fraction]:
    """The bounds by their definition: ns for a byte, the largest over all sets of devices."""
    n, below = fabric.ranks, math.lcm(*(rate.denominator for *_, rate in fabric.links))
    sets = np.arange(1 << fabric.devices)
    exits, here = np.zeros(len(sets), np.int64), np.zeros(len(sets), np.int64)
    for start, end, rate in fabric.links:
        exits += int(rate * below) * ((sets >> start) & ~(sets >> end) & 1)
    for rank in range(n):
        here += sets >> rank & 1
    crossed = (here > 0) & (here < n)
    sets, exits, here = sets[crossed], exits[crossed], here[crossed]
    needs = {
        Kind.ALL_GATHER: here,
        Kind.REDUCE_SCATTER: n - here,
        Kind.ALL_REDUCE: np.ones_like(here),
        Kind.BROADCAST: sets & 1,
        Kind.ALL_TO_ALL: here * (n - here),
    }
    worst = {}
    for kind, need in needs.items():
        at = int(np.argmax(need / exits))  # the numbers are small enough that no two become equal
        worst[kind] = Fraction(int(need[at]) * below, int(exits[at]))
    worst[Kind.REDUCE_SCATTER] /= n
    worst[Kind.ALL_TO_ALL] /= n
    sending = sum((rate for start, _, rate in fabric.links if start < n), Fraction(0))
    worst[Kind.ALL_REDUCE] = max(worst[Kind.ALL_REDUCE], 2 * (n - 1) / sending)
    return worst


def assert_bounds(fabric: Fabric, what: str) -> None:
    expected = by_all_cuts(fabric)
    for kind in BOUNDED:
        assert bound(kind, fabric).ns_per_byte == expected[kind], f"{kind} of {what}"


def test_rates_with_many_digits_are_bounded() -> None:
    """Two cables of 0.7 and 53.6870912 GB/s, whose rates as fractions have more than 32 bits."""
    slow, fast = Fraction(0.7), Fraction(53.6870912)
    links = ((0, 1, slow), (1, 0, slow), (1, 2, fast), (2, 1, fast))
    found = bound(Kind.ALL_TO_ALL, Fabric(3, 3, links))
    assert found.ns_per_byte == Fraction(2, 3) / slow


def all_graphs(nodes: int) -> list[list[tuple[int, int]]]:
    cables = list(combinations(range(nodes), 2))
    number = {cable: at for at, cable in enumerate(cables)}
    names = [(0, *others) for others in permutations(range(1, nodes))]
    renamed = [
        [1 << number[min(to[a], to[b]), max(to[a], to[b])] for a, b in cables] for to in names
    ]
    seen, found = set[int](), []
    for graph in range(1, 1 << len(cables)):
        if graph in seen:
            continue
        chosen = [at for at in range(len(cables)) if graph >> at & 1]
        seen.update(sum(to[at] for at in chosen) for to in renamed)
        found.append([cables[at] for at in chosen])
    return found


def is_connected(fabric: Fabric) -> bool:
    for links in (fabric.links, fabric.reversed().links):
        seen = {0}
        for _ in range(fabric.devices):
            seen |= {end for start, end, _ in links if start in seen}
        if len(seen) < fabric.devices:
            return False
    return True


def drawn(seed: int, devices: int) -> Fabric:
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


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 6])
def test_the_bounds_are_the_worst_cuts_of_every_small_graph(nodes: int) -> None:
    for cables in all_graphs(nodes):
        links = tuple((*way, Fraction(1)) for pair in cables for way in (pair, pair[::-1]))
        fabric = Fabric(nodes, nodes, links)
        if is_connected(fabric):
            assert_bounds(fabric, str(cables))


@pytest.mark.parametrize("devices", [7, 8])
def test_the_bounds_are_the_worst_cuts_of_directed_graphs_with_switches(devices: int) -> None:
    for seed in range(1000):
        assert_bounds(drawn(seed, devices), f"seed {seed}")


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
    assert bound(Kind.ALL_TO_ALL, ring).ns_per_byte == Fraction(n * n, 4 * n) / (2 * rate)


@pytest.mark.parametrize("sizes", [(8, 4), (6, 5)])
def test_the_bound_of_an_all_to_all_on_a_large_torus_is_its_bisection(
    sizes: tuple[int, int],
) -> None:
    columns, rows = sizes
    n = columns * rows
    links = [
        (x + columns * y, (x + dx) % columns + columns * ((y + dy) % rows), Fraction(1))
        for x in range(columns)
        for y in range(rows)
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))
    ]
    half = columns // 2 * rows
    torus = Fabric(n, n, tuple(links))
    assert bound(Kind.ALL_TO_ALL, torus).ns_per_byte >= Fraction(half * (n - half), n * 2 * rows)


def star(n: int, rate: Fraction) -> Fabric:
    ways = ((rank, n, rate) for rank in range(n))
    return Fabric(n, n + 1, tuple(link for a, b, r in ways for link in ((a, b, r), (b, a, r))))


@pytest.mark.parametrize("n", [2, 3, 8, 72])
def test_the_bound_on_a_switch_is_that_of_who_adds(n: int) -> None:
    rate = Fraction(450)
    fabric = star(n, rate)
    assert bound(Kind.ALL_REDUCE, fabric).ns_per_byte == Fraction(2 * (n - 1), n) / rate
    assert bound(Kind.ALL_REDUCE, fabric, switches_add=True).ns_per_byte == 1 / rate
    for kind in set(BOUNDED) - {Kind.ALL_REDUCE}:
        assert bound(kind, fabric, switches_add=True) == bound(kind, fabric)


def test_where_switches_add_an_all_reduce_is_bounded_by_cuts_alone() -> None:
    for seed in range(100):
        fabric = drawn(seed, 7)
        sets = (
            frozenset(device for device in range(7) if number >> device & 1)
            for number in range(1, 1 << 7)
        )
        crossed = (one for one in sets if 0 < len(one & set(range(fabric.ranks))) < fabric.ranks)
        worst = max(1 / exit_rate(fabric, one) for one in crossed)
        assert bound(Kind.ALL_REDUCE, fabric, switches_add=True).ns_per_byte == worst


def test_rates_that_are_too_different_to_be_added_are_refused() -> None:
    tiny = Fraction(1, 3**60)
    links = ((0, 1, Fraction(2**60)), (1, 0, tiny), (1, 2, tiny), (2, 0, Fraction(7)))
    with pytest.raises(UnsupportedError, match="more than 120 bits"):
        bound(Kind.ALL_GATHER, Fabric(3, 3, links))


def test_what_has_no_bound_is_refused() -> None:
    fabric = Fabric(2, 2, ((0, 1, Fraction(1)), (1, 0, Fraction(1))))
    with pytest.raises(ValueError, match="no bound of barrier"):
        bound(Kind.BARRIER, fabric)


def test_the_command_tells_time_and_limit(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["topology", "show", "ring", "--set", "ranks=8", "--set", "bandwidth=50 GB/s"]
    assert main([*line, "--bounds", "8 MB"]) == 0
    shown = capsys.readouterr().out
    # 7/8 of 8 MB come in over two links of 50 GB/s.
    assert "all_gather" in shown
    assert "70.000 us" in shown


def test_what_has_no_answer_in_time_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["topology", "show", "torus", "--set", "sizes=[16,16,16]"]
    assert main([*line, "--bounds", "1 GiB"]) == 3
    assert "would take minutes to bound" in capsys.readouterr().err


@pytest.mark.parametrize(("ranks", "told"), [(1, "at least 2 ranks"), (3, "do not reach")])
def test_ranks_that_nothing_joins_are_refused(ranks: int, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        cut_bounds(Draft(ranks).graph(), "alone", 1)
