"""Laws of time of every topology (of links and routes: `yantra.fabric.topologies.contract`)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, permutations
from math import isqrt
from pathlib import Path

import pytest

from tests.clusters import GB_PER_S, LATENCY_NS, dimension, scenario
from tests.oracles.graphs import distances_to
from yantra.chakra import TraceBuilder
from yantra.fabric.topologies import find, topologies
from yantra.fabric.topologies.contract import LAWS, Law, supported_sizes, violations
from yantra.fabric.topologies.routes import table_of
from yantra.result import Result
from yantra.run.simulate import simulate

NAMES = (*topologies.names(), "two_level_tree1", "two_level_tree4", "dragonfly1", "dragonfly2")
CASES = [(name, n) for name in NAMES for n in supported_sizes(find(name))]
SMALL = [case for case in CASES if case[1] in (2, 3, 4, 6, 7, 12, 16)]
SIZE = 1_000_000
SERIAL_NS = SIZE / GB_PER_S


def one_message(name: str, n: int, start: int, to: int, network: str) -> Result:
    ranks = [TraceBuilder() for _ in range(n)]
    ranks[start].send(to, SIZE)
    ranks[to].recv(start, SIZE)
    return simulate(scenario(ranks, dimension(name, n), network=network))


def some_pairs(n: int) -> list[tuple[int, int]]:
    ends = {0, 1, n // 2, n - 2, n - 1} & set(range(n))
    return list(permutations(sorted(ends), 2))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize(("name", "n"), CASES)
def test_law(law: Law, name: str, n: int) -> None:
    assert law(find(name), n) is None


@pytest.mark.parametrize(("name", "n"), SMALL)
def test_one_message_alone_takes_hops_times_latency_plus_size_over_bandwidth(
    name: str, n: int
) -> None:
    table = table_of(find(name), n)
    for start, to in some_pairs(n):
        result = one_message(name, n, start, to, "analytical")
        assert result.finish_ns[to] == table.hops(start, to) * LATENCY_NS + SERIAL_NS


@pytest.mark.parametrize(("name", "n"), SMALL)
def test_one_message_is_stored_and_forwarded_over_the_links_of_its_route(name: str, n: int) -> None:
    table = table_of(find(name), n)
    several = find(name).switches(n) > 1
    for start, to in some_pairs(n):
        result = one_message(name, n, start, to, "store_and_forward")
        route = table.route(start, to)
        assert result.finish_ns[to] == (len(route) - 1) * (LATENCY_NS + SERIAL_NS)
        named = [device if several or device < n else None for device in route]
        used = {row[1:3]: row[3:5] for row in result.links.rows()}
        assert used == dict.fromkeys(pairwise(named), (SIZE, 1))


@pytest.mark.parametrize("name", NAMES)
def test_bytes_are_conserved_on_every_link(name: str) -> None:
    n = max(size for size in supported_sizes(find(name)) if size <= 16)
    table = table_of(find(name), n)
    ranks = [TraceBuilder() for _ in range(n)]
    for start, to in permutations(range(n), 2):
        ranks[start].send(to, SIZE + start)
    for start, to in permutations(range(n), 2):
        ranks[to].recv(start, SIZE + start)
    for network, hops_count in (("store_and_forward", True), ("analytical", False)):
        result = simulate(scenario(ranks, dimension(name, n), network=network))
        sent = [
            (SIZE + start) * (table.hops(start, to) if hops_count else 1)
            for start, to in permutations(range(n), 2)
        ]
        assert result.dimension_uses[0].bytes == sum(sent)
        if hops_count:
            assert sum(result.links["bytes"]) == sum(sent)


def test_messages_to_one_rank_wait_for_each_other_and_to_others_take_other_spines() -> None:
    def finish(*messages: tuple[int, int]) -> list[float]:
        ranks = [TraceBuilder() for _ in range(4)]
        for start, to in messages:
            ranks[start].send(to, SIZE)
            ranks[to].recv(start, SIZE)
        tree = dimension("two_level_tree2", 4)
        return list(simulate(scenario(ranks, tree, network="store_and_forward")).finish_ns)

    alone = 4 * (LATENCY_NS + SERIAL_NS)
    assert max(finish((0, 2), (1, 2))) == alone + SERIAL_NS
    assert max(finish((0, 2), (1, 3))) == alone


def around(n: int, distance: int) -> int:
    return min(distance % n, -distance % n)


def torus_hops(n: int, a: int, b: int) -> int:
    columns = next(n // rows for rows in range(isqrt(n), 0, -1) if n % rows == 0)
    rows_apart, columns_apart = a // columns - b // columns, a % columns - b % columns
    return around(n // columns, rows_apart) + around(columns, columns_apart)


HOPS: dict[str, Callable[[int, int, int], int]] = {
    "ring": lambda n, a, b: around(n, a - b),
    "fully_connected": lambda n, a, b: 1,
    "switch": lambda n, a, b: 2,
    "mesh": lambda n, a, b: abs(a - b),
    "hypercube": lambda n, a, b: (a ^ b).bit_count(),
    "torus_2d": torus_hops,
    "two_level_tree1": lambda n, a, b: 4,
    "two_level_tree4": lambda n, a, b: 2 if a // 4 == b // 4 else 4,
}
LINKS: dict[str, Callable[[int], int]] = {
    "ring": lambda n: 2 * n if n > 2 else 2,
    "fully_connected": lambda n: n * (n - 1),
    "switch": lambda n: 2 * n,
    "mesh": lambda n: 2 * (n - 1),
    "hypercube": lambda n: n * (n.bit_length() - 1),
    "two_level_tree1": lambda n: 2 * (n + n),
    "two_level_tree4": lambda n: 2 * (n + n // 4 * 4),
    "dragonfly1": lambda n: 2 * (n + n // 2 + (n // 2) * (n // 2 - 1) // 2),
    "dragonfly2": lambda n: 2 * (n + n // 8 * 6 + (n // 8) * (n // 8 - 1) // 2),
}


@pytest.mark.parametrize("name", HOPS)
def test_hops_are_those_of_the_closed_form(name: str) -> None:
    for n in supported_sizes(find(name)):
        table = table_of(find(name), n)
        for a, b in permutations(range(n), 2):
            assert table.hops(a, b) == HOPS[name](n, a, b), (n, a, b)


@pytest.mark.parametrize("name", LINKS)
def test_there_are_as_many_links_as_in_the_closed_form(name: str) -> None:
    for n in supported_sizes(find(name)):
        assert len(table_of(find(name), n).links) == LINKS[name](n), n


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("dragonfly")])
def test_no_way_is_shorter(name: str) -> None:
    for n in supported_sizes(find(name)):
        table = table_of(find(name), n)
        for to in range(n):
            far = distances_to(to, table.links)
            assert all(table.hops(start, to) == far[start] for start in range(n) if start != to)


def test_a_dragonfly_takes_one_long_link_between_groups() -> None:
    n, h = 72, 2
    table = table_of(find("dragonfly2"), n)

    def group(device: int) -> int:
        return (device - n) // (2 * h)

    for a, b in permutations(range(n), 2):
        routers = table.route(a, b)[1:-1]
        crossings = sum(group(x) != group(y) for x, y in pairwise(routers))
        assert crossings == (a // 8 != b // 8)
        assert len(routers) <= 4
    # 9 groups: each router has 2 ranks, 3 others of its group and 2 long links.
    leaving = [sum(source == router for source, _ in table.links) for router in range(n, n + 36)]
    assert set(leaving) == {2 + 3 + 2}


def test_ranks_of_a_leaf_spread_over_all_spines() -> None:
    table = table_of(find("two_level_tree4"), 16)
    for leaf in range(4):
        targets = [4 * leaf + at for at in range(4)]
        start = (4 * leaf + 4) % 16
        assert len({table.route(start, to)[2] for to in targets}) == 4


def test_sizes_that_fit_no_topology_are_told_what_is_needed() -> None:
    told = {name: find(name).supports(7) for name in NAMES if find(name).supports(7)}
    assert told == {
        "dragonfly": "needs 2 to 2 h h + 1 groups of 2 h h ranks each for some h, as 6 = 3 x 2 or "
        "64 = 8 x 8, got 7",
        "dragonfly1": "needs 2 to 3 groups of 2 ranks each, got 7",
        "dragonfly2": "needs 2 to 9 groups of 8 ranks each, got 7",
        "hypercube": "needs a power of two, got 7",
        "torus_2d": "needs rows and columns of at least 2 ranks each, got 7",
        "two_level_tree": "needs equal leaves of at least 2 ranks, got 7",
        "two_level_tree4": "needs two or more leaves of 4 ranks each, got 7",
    }
    assert [name for name in NAMES if find(name).supports(1) is None] == []


EXAMPLE = '''
"""Every rank is linked to the next two."""
from yantra.fabric.topologies.topology import Block

class Chords(Block):
    def supports(self, n):
        return super().supports(n) or ("needs at least 4 ranks" if n < 4 else None)

    def links(self, n):
        return [(rank, (rank + step) % n) for rank in range(n) for step in (1, 2)]
'''


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "chords.py").write_text(EXAMPLE)
    info = tmp_path / "chords-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: chords\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[yantra.topologies]\nchords3 = chords:Chords\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "chords3"


def test_a_third_party_topology_is_found_keeps_the_laws_and_carries_messages(
    third_party: str,
) -> None:
    chords = find(third_party)
    assert list(violations(chords)) == []
    assert table_of(chords, 8).route(0, 5) == [0, 1, 3, 5]  # the lowest of equally short ways
    for network, per_hop in (("analytical", 0), ("store_and_forward", 2 * SERIAL_NS)):
        result = one_message(third_party, 8, 0, 5, network)
        assert result.finish_ns[5] == 3 * LATENCY_NS + SERIAL_NS + per_hop
