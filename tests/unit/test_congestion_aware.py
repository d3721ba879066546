"""The store-and-forward network where ASTRA-sim has none: rings of two, and several dimensions."""

from __future__ import annotations

from itertools import product

import pytest

from tests.clusters import GB_PER_S, LATENCY_NS, dimension, scenario
from yantra import _core
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.run.simulate import simulate
from yantra.scenario import ASTRA_SIM_RESOURCES, Collectives, Dimension

SIZE = 1_200_000
SERIAL_NS = SIZE / GB_PER_S
HAND_OVER_NS = 10
RINGS = Collectives(all_reduce=("ring",), all_gather=("ring",), chunks=1)
AWARE = "store_and_forward"
ASTRA_SIM = {"semantics": "astra-sim", "resources": ASTRA_SIM_RESOURCES}


@pytest.mark.parametrize("parts", [{}, ASTRA_SIM], ids=["yantra", "astra-sim"])
def test_a_ring_of_two_gathers_in_one_exchange(parts: dict[str, str]) -> None:
    gather = TraceBuilder()
    gather.collective(CollectiveType.ALL_GATHER, SIZE)
    pair = dimension("ring", 2)
    for network in (AWARE, "analytical"):
        asked = scenario([gather] * 2, pair, collectives=RINGS, network=network, **parts)
        exchange = HAND_OVER_NS + LATENCY_NS + SERIAL_NS + HAND_OVER_NS
        assert list(simulate(asked).finish_ns) == [exchange, exchange]


def test_a_pair_has_one_link_each_way() -> None:
    ranks = [TraceBuilder(), TraceBuilder()]
    for here, there in ((0, 1), (1, 0)):
        for tag in range(3):
            ranks[here].send(there, SIZE, tag=tag)
            ranks[here].recv(there, SIZE, tag=tag)
    result = simulate(scenario(ranks, dimension("ring", 2), network=AWARE))
    assert sorted(row[1:4] for row in result.links.rows()) == [(0, 1, 3 * SIZE), (1, 0, 3 * SIZE)]
    assert result.makespan_ns == 3 * SERIAL_NS + LATENCY_NS


KINDS = ("ring", "switch", "fully_connected", "mesh", "two_level_tree2")


def lines(first: Dimension, second: Dimension, used: int) -> list[list[int]]:
    if used == 0:
        return [[x + first.size * y for x in range(first.size)] for y in range(second.size)]
    return [[x + first.size * y for y in range(second.size)] for x in range(first.size)]


@pytest.mark.parametrize(("idle", "kind", "used"), [*product(("ring", "mesh"), KINDS, (0, 1))])
def test_one_dimension_of_several_is_that_dimension_alone(idle: str, kind: str, used: int) -> None:
    alone = dimension(kind, 4)
    pair = (alone, dimension(idle, 3)) if used == 0 else (dimension(idle, 3), alone)
    messages = [(0, 2, SIZE), (1, 2, SIZE), (3, 0, 2 * SIZE), (2, 3, 50), (0, 3, SIZE)]

    def traces(ranks: int, along: list[list[int]]) -> list[TraceBuilder]:
        made = [TraceBuilder() for _ in range(ranks)]
        for line in along:
            for tag, (source, to, size) in enumerate(messages):
                made[line[source]].send(line[to], size, tag=tag)
                made[line[to]].recv(line[source], size, tag=tag)
        return made

    expected = simulate(scenario(traces(4, [[0, 1, 2, 3]]), alone, network=AWARE)).finish_ns
    grid = lines(*pair, used)
    finish = simulate(scenario(traces(12, grid), *pair, network=AWARE)).finish_ns
    assert [[finish[rank] for rank in line] for line in grid] == [list(expected)] * 3


@pytest.mark.parametrize(("kind", "used"), [*product(KINDS, (0, 1))])
def test_a_collective_over_one_dimension_of_several_is_that_over_it_alone(
    kind: str, used: int
) -> None:
    alone = dimension(kind, 4)
    pair = (alone, dimension("ring", 3)) if used == 0 else (dimension("ring", 3), alone)
    reduce, along = TraceBuilder(), TraceBuilder()
    reduce.collective(CollectiveType.ALL_REDUCE, SIZE)
    along.collective(CollectiveType.ALL_REDUCE, SIZE, involved_dim=[used == 0, used == 1])
    one = simulate(scenario([reduce] * 4, alone, network=AWARE)).finish_ns
    several = simulate(scenario([along] * 12, *pair, network=AWARE)).finish_ns
    for line in lines(*pair, used):
        assert [several[rank] for rank in line] == list(one)


def test_a_message_crosses_dimensions_in_ascending_order() -> None:
    ranks = [TraceBuilder() for _ in range(12)]
    ranks[0].send(11, SIZE)
    ranks[11].recv(0, SIZE)
    pair = dimension("mesh", 4), dimension("switch", 3)
    result = simulate(scenario(ranks, *pair, network=AWARE))
    assert result.finish_ns[11] == (3 + 2) * (LATENCY_NS + SERIAL_NS)
    route = [(0, 0, 1), (0, 1, 2), (0, 2, 3), (1, 3, None), (1, None, 11)]
    assert [row[:3] for row in result.links.rows()] == route


NONE = 0xFFFFFFFF
BROKEN = [
    ((1, 1, [], [], [NONE]), "a block has two ranks or more"),
    ((2, 2, [0, 1], [1], [NONE] * 4), "a link has two ends"),
    ((2, 2, [0, 1], [1, 2], [NONE] * 4), "a link joins devices of its block"),
    ((2, 2, [0, 1], [1, 0], [NONE] * 3), "an entry for every pair"),
    ((2, 2, [0, 1], [1, 0], [NONE, 1, 1, NONE]), "a route takes a link of the device it is at"),
    ((2, 2, [0, 1], [1, 0], [NONE, 0, NONE, NONE]), "a route arrives"),
    ((3, 3, [0, 1], [1, 0], [NONE, 0, 0, 1, NONE, 1, NONE, NONE, NONE]), "a route arrives"),
]


@pytest.mark.parametrize(("table", "why"), BROKEN, ids=[why for _, why in BROKEN])
def test_the_core_refuses_a_broken_table(table: tuple[int, ...], why: str) -> None:
    with pytest.raises(Exception, match=why):
        _core.BlockTable(*table)  # type: ignore[arg-type]
