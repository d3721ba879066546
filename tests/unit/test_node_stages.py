"""Collectives of nodes with switches: proven, their closed forms to the tick, bytes conserved."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.chakra import CollectiveType
from yantra.collectives import find
from yantra.collectives.check import find_violation
from yantra.collectives.contract import LAWS
from yantra.collectives.in_network import InNetwork
from yantra.collectives.schedule import Kind, Schedule
from yantra.fabric.graphs.describe import Shown, shown
from yantra.fabric.graphs.switches import FabricSwitches
from yantra.result import Result
from yantra.run.collective_bench import Question, bench
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, loads
from yantra.scenario.one_collective import of_all_ranks
from yantra.scenario.types import Templates

IN, OUT = 400, 50  # bytes/ns of a rank to its node's switches together, and to its rail's leaf
L_IN, L_OUT = 500, 2000  # ns
D = 10  # ns, of a hand-over
OVER_NODES = ("nvls", "nvls_tree", "collnet_direct", "collnet_chain", "chain_tree")


def rails(nodes: int, local: int, switches: int = 1) -> Shown:
    options = {
        "boxes": nodes, "ranks_per_box": local, "box_switches": switches,
        "box_bandwidth": f"{IN / switches} GB/s", "box_latency": f"{L_IN} ns",
        "bandwidth": f"{OUT} GB/s", "latency": f"{L_OUT} ns",
    }  # fmt: skip
    return shown("rail_optimised", options)


def scenario_of(
    fabric: Shown, name: str, kind: Kind, size: int, more: str = ", chunks: 1"
) -> Scenario:
    n, options = fabric.graph.ranks, ", ".join(f"{k}: {v}" for k, v in fabric.options.items())
    scenario = loads(
        f"""
workload: {{traces: "none.{{rank}}.et"}}
cluster:
  topology: [{{kind: ring, size: {n}, bandwidth: 1 GB/s, latency: 0 ns}}]
  fabric: {{kind: {fabric.name}, {options}}}
  routing: even_spray
network: {{kind: flow, options: {{in_order: 1}}}}
collectives: {{{kind}: [{name}], endpoint_delay: {D} ns{more}}}
"""
    )
    part = size // n if kind is Kind.ALL_GATHER else size
    workload = of_all_ranks(CollectiveType[kind.name], part, n)
    return scenario.replace(workload=Templates(workload=workload))


def taken(fabric: Shown, name: str, kind: Kind, size: int, more: str = ", chunks: 1") -> float:
    return simulate(scenario_of(fabric, name, kind, size, more)).makespan_ns


def schedule_on(fabric: Shown, name: str, kind: Kind) -> Schedule:
    algorithm, n = find(name), fabric.graph.ranks
    if isinstance(algorithm, InNetwork):
        algorithm = algorithm.on(FabricSwitches(fabric.graph, range(n)))
    return algorithm.schedule(kind, n)


def between(nodes: int, share: int) -> float:
    options = {"ranks": nodes, "bandwidth": f"{OUT} GB/s", "latency": f"{L_OUT} ns"}
    leaf = shown("switch", options)
    return taken(leaf, "double_binary_tree", Kind.ALL_REDUCE, share) - D


def closed_form(name: str, nodes: int, local: int, size: int) -> float:
    share = size // local
    nvls = 2 * (2 * D + 2 * L_IN + (1 + 1 / local) * size / IN) - D
    sharp = 2 * (L_OUT + share / OUT) + D if nodes > 1 else 0.0
    trees = between(nodes, share) if nodes > 1 else 0.0
    direct = D + 2 * (2 * L_IN + (local - 1) / local * size / IN + D)
    chain = D + 2 * (local - 1) * (2 * L_IN + share / IN + D)
    return {
        "nvls": nvls + sharp,
        "nvls_tree": nvls + trees,
        "collnet_direct": direct + sharp,
        "collnet_chain": chain + sharp,
        "chain_tree": chain + trees,
    }[name]


@pytest.mark.parametrize("name", OVER_NODES)
@pytest.mark.parametrize(
    ("nodes", "local", "switches"), [(1, 8, 1), (1, 4, 2), (2, 4, 1), (3, 4, 2), (4, 8, 1)]
)
@pytest.mark.parametrize("size", [48_000, 4_800_000])
def test_alone_an_all_reduce_takes_its_closed_form_to_the_tick(
    name: str, nodes: int, local: int, switches: int, size: int
) -> None:
    took = taken(rails(nodes, local, switches), name, Kind.ALL_REDUCE, size)
    assert took == pytest.approx(closed_form(name, nodes, local, size), abs=0.01)


@pytest.mark.parametrize("kind", [Kind.REDUCE_SCATTER, Kind.ALL_GATHER])
@pytest.mark.parametrize(("ranks", "planes"), [(2, 1), (8, 1), (8, 4), (6, 3)])
def test_nvls_sends_all_one_way_and_a_part_the_other(kind: Kind, ranks: int, planes: int) -> None:
    options = {
        "ranks_per_rack": ranks, "switches": planes, "bandwidth": "10 GB/s", "latency": "1 us",
    }  # fmt: skip
    size = 288_000
    took = taken(shown("nvl72", options), "nvls", kind, size)
    assert took == pytest.approx(
        2 * D + 2 * 1000 + (1 + 1 / ranks) * size / (planes * 10), abs=0.01
    )


EVERY_HALF = (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER)


@pytest.mark.parametrize(("nodes", "local"), [(2, 4), (4, 4), (3, 2), (5, 2)])
@pytest.mark.parametrize("kind", EVERY_HALF)
@pytest.mark.parametrize(("block", "near"), [(8_000, 30.0), (800_000, 1.1)])
def test_rings_on_rails_come_close_to_what_adapters_carry(
    kind: Kind, nodes: int, local: int, block: int, near: float
) -> None:
    n = nodes * local
    size = block * n * local
    steps = (2 if kind is Kind.ALL_REDUCE else 1) * (n - 1)
    least = steps / n * size * max(1 / IN, 1 / (local * OUT))
    hop = D + 2 * L_IN + size / n / IN + D + 2 * L_OUT + size / (n * local) / OUT
    took = taken(rails(nodes, local), f"rail_rings{local}", kind, size)
    assert least < took < min(near * least, D + steps * hop)


@pytest.mark.parametrize("kind", EVERY_HALF)
@pytest.mark.parametrize("n", [2, 7])
def test_rings_of_one_node_take_the_closed_form_of_a_ring_to_the_tick(kind: Kind, n: int) -> None:
    size = 8000 * n
    steps = (2 if kind is Kind.ALL_REDUCE else 1) * (n - 1)
    took = taken(rails(1, n), f"rail_rings{n}", kind, size)
    assert took == pytest.approx(D + steps * (D + 2 * L_IN + size / n / IN), abs=0.01 * steps)


@pytest.mark.parametrize("n", [2, 5, 8])
def test_rings_of_one_node_and_of_nodes_of_one_rank_are_a_ring(n: int) -> None:
    for kind in find("ring").kinds - {Kind.ALL_TO_ALL}:
        flat = Counter(find("ring").schedule(kind, n).messages(n * 64))
        for one in ("rail_rings1", f"rail_rings{n}"):
            assert Counter(find(one).schedule(kind, n).messages(n * 64)) == flat


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(OVER_NODES),
    nodes=st.integers(1, 5),
    local=st.integers(2, 5),
    switches=st.integers(1, 3),
    order=st.randoms(use_true_random=False),
)
def test_every_schedule_is_proven_wherever_ranks_are_placed(
    name: str, nodes: int, local: int, switches: int, order: object
) -> None:
    graph = rails(nodes, local, switches).graph
    devices = list(range(graph.ranks))
    order.shuffle(devices)  # type: ignore[attr-defined]
    algorithm = find(name)
    assert isinstance(algorithm, InNetwork)
    placed = algorithm.on(FabricSwitches(graph, devices))
    for kind in placed.kinds:
        if placed.supports(kind, graph.ranks) is None:
            for law in LAWS:
                assert law(placed, kind, graph.ranks) is None


@pytest.mark.parametrize("name", (*OVER_NODES, "rail_rings4", "two_level4"))
@pytest.mark.parametrize("nodes", [1, 3])
def test_bytes_on_links_are_those_of_the_moves_times_their_hops(name: str, nodes: int) -> None:
    fabric = rails(nodes, 4, 2)
    kind = min(find(name).kinds, key=list(Kind).index)
    size = 96_000
    result = simulate(scenario_of(fabric, name, kind, size))
    schedule = schedule_on(fabric, name, kind)
    n = fabric.graph.ranks

    def hops(src: int, dst: int) -> int:
        return 1 if max(src, dst) >= n else 2  # a switch is one link away, a rank two

    carried = sum(hops(src, dst) * sent for src, dst, sent in schedule.messages(size))
    assert _bytes(result) == carried
    assert result.messages == sum(len(list(schedule.moves(one))) for one in schedule.rounds)


def _bytes(result: Result) -> int:
    return sum(use.bytes for use in result.dimension_uses)


@pytest.mark.parametrize("name", OVER_NODES)
def test_with_company_it_takes_longer_than_alone_and_less_than_one_after_the_other(
    name: str,
) -> None:
    fabric, size = rails(3, 4), 4_800_000
    half = taken(fabric, name, Kind.ALL_REDUCE, size // 2)
    both = taken(
        fabric,
        name,
        Kind.ALL_REDUCE,
        size,
        ", chunks: 2, active_chunks: 2, queues_per_dimension: 2",
    )
    assert half < both < 2 * half


@pytest.mark.parametrize("planes", [1, 4])
def test_many_chunks_of_nvls_overlap_the_two_ways(planes: int) -> None:
    """Up to twice a link's rate on the bus: an all-reduce of many chunks nears (1 + 1/n) S / B."""
    options = {
        "ranks_per_rack": 8, "switches": planes, "bandwidth": "10 GB/s", "latency": "100 ns",
    }  # fmt: skip
    size = 160_000_000 * planes
    more = ", chunks: 128, active_chunks: 6, queues_per_dimension: 6"
    took = taken(shown("nvl72", options), "nvls", Kind.ALL_REDUCE, size, more)
    least = (1 + 1 / 8) * size / (planes * 10)
    assert least <= took <= 1.3 * least
    assert 2 * 7 / 8 * size / took > 1.2 * planes * 10  # the bus reads more than the link has


def test_what_a_fabric_lacks_is_said() -> None:
    cases = (
        ("nvls", shown("leaf_spine", {}), "no switch of a node has links to all of its ranks"),
        ("nvls_tree", shown("torus", {"sizes": [3, 3]}), "no switch of a node has links"),
        ("sharp", shown("torus", {"sizes": [3, 3]}), "no switch of the fabric reaches all ranks"),
    )
    for name, fabric, told in cases:
        [row] = bench([fabric], Question(Kind.ALL_REDUCE, (4096,), (name,)))
        assert told in row.refused
    [row] = bench([rails(2, 2)], Question(Kind.ALL_GATHER, (4096,), ("nvls",)))
    assert "over several nodes it performs all_reduce, not all_gather" in row.refused


def test_nodes_of_unequal_ranks_are_refused() -> None:
    graph = rails(2, 3).graph
    algorithm = find("collnet_direct")
    assert isinstance(algorithm, InNetwork)
    few = algorithm.on(FabricSwitches(graph, [0, 1, 2, 3, 4]))
    assert few.supports(Kind.ALL_REDUCE, 5) == ("its nodes have equal numbers of ranks; got 2, 3")


def test_a_switch_between_places_is_needed_where_switches_add_between_nodes() -> None:
    class Bare:
        def trees(self, positions: object) -> tuple[()]:
            return ()

        def nodes(self) -> object:
            return FabricSwitches(rails(2, 2).graph, range(4)).nodes()

    for name in ("collnet_direct", "collnet_chain", "nvls"):
        algorithm = find(name)
        assert isinstance(algorithm, InNetwork)
        told = algorithm.on(Bare()).supports(Kind.ALL_REDUCE, 4)  # type: ignore[arg-type]
        assert told == "no switch of the fabric reaches equal places of all nodes"


def test_the_checker_finds_a_share_that_goes_to_the_wrong_place() -> None:
    schedule = schedule_on(rails(2, 3), "nvls_tree", Kind.ALL_REDUCE)
    assert find_violation(schedule) is None
    loads_ = schedule.rounds[1]
    first, second = loads_.moves[:2]
    swapped = (first._replace(blocks=second.blocks), second._replace(blocks=first.blocks))
    rounds = list(schedule.rounds)
    rounds[1] = loads_._replace(moves=(*swapped, *loads_.moves[2:]))
    assert find_violation(schedule._replace(rounds=tuple(rounds))) is not None
