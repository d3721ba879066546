"""Every builder of fabrics keeps `yantra.fabric.graphs.contract` and the figures of its paper."""

from __future__ import annotations

from itertools import product as tuples
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.graphs import distances_to
from yantra.base.contract import first_broken
from yantra.base.errors import ConfigError
from yantra.fabric.graphs import builders, cuts, graph_of, read
from yantra.fabric.graphs.builder import Builder
from yantra.fabric.graphs.contract import LAWS
from yantra.fabric.graphs.distances import distances
from yantra.fabric.graphs.draft import Draft, Speed
from yantra.fabric.graphs.figures import as_dict, bisection, figures
from yantra.fabric.graphs.graph import Graph, GraphError

SPEED = {"bandwidth": "50 GB/s", "latency": "500 ns"}
RAILS = {**SPEED, "box_bandwidth": "450 GB/s", "box_latency": "1 ns"}
CARDS = {
    "pcie_bandwidth": "16 GB/s",
    "pcie_latency": "1 us",
    "network_bandwidth": "12.5 GB/s",
    "network_latency": "2 us",
}
CASES: list[tuple[str, dict[str, Any]]] = [
    *((name, {"ranks": n}) for name in ("ring", "switch", "fully_connected") for n in (2, 3, 4, 7)),
    *(("mesh", {"sizes": s}) for s in ([2], [5], [2, 2], [4, 2], [3, 2], [2, 2, 2], [3, 3])),
    *(("torus", {"sizes": s}) for s in ([2], [5], [2, 2], [4, 2], [3, 2], [2, 2, 2], [3, 3])),
    *(("torus", {"sizes": s}) for s in ([4, 4], [2, 3, 4], [6, 2], [8, 4, 2])),
    *(("hypercube", {"dimensions": d}) for d in (1, 2, 3, 5)),
    *(("fat_tree", {"k": k}) for k in (2, 4, 6)),
    *(
        ("leaf_spine", {"leaves": leaves, "ranks_per_leaf": ranks, "spines": spines, **more})
        for leaves, ranks, spines in ((1, 2, 1), (2, 3, 2), (3, 2, 2), (3, 3, 1), (5, 2, 4))
        for more in ({}, {"oversubscription": 4}, {"uplink_bandwidth": "60 GB/s"})
    ),
    *(
        ("multi_plane", {"planes": planes, "leaves": leaves, "ranks_per_leaf": 3, "spines": spines})
        for planes, leaves, spines in ((1, 1, 0), (4, 1, 0), (2, 3, 1), (3, 2, 2))
    ),
    ("rail_optimised", {"boxes": 2, "ranks_per_box": 3, **RAILS}),
    ("rail_optimised", {"boxes": 1, "ranks_per_box": 8, "box_switches": 4, **RAILS}),
    ("rail_optimised", {"boxes": 6, "ranks_per_box": 2, "boxes_per_leaf": 3, "spines": 2, **RAILS}),
    *(
        ("dragonfly", {"p": p, "a": a, "h": h, "g": g})
        for p, a, h, g in ((1, 2, 1, 3), (2, 4, 2, 9), (1, 4, 2, 5), (1, 3, 1, 4), (1, 1, 3, 4))
    ),
    ("dragonfly", {"p": 1, "a": 4, "h": 2, "g": 2, "global_bandwidth": "1 GB/s"}),
    ("dragonfly_plus", {"ranks_per_leaf": 1, "leaves": 2, "spines": 2, "h": 1}),
    ("dragonfly_plus", {"ranks_per_leaf": 2, "leaves": 3, "spines": 2, "h": 4, "g": 4}),
    *(
        ("hyperx", {"sizes": sizes, "ranks_per_router": ranks, **more})
        for sizes, ranks in (([2], 3), ([4], 2), ([2, 2], 2), ([4, 2], 1), ([3, 2], 1))
        for more in ({}, {"router_bandwidth": "5 GB/s"})
    ),
    *(("dgx1", {"generation": one}) for one in ("p100", "v100")),
    ("dgx1", {"boxes": 2, **CARDS}),
    ("nvl72", {"ranks_per_rack": 8, "switches": 2}),
    (
        "nvl72",
        {"racks": 2, "ranks_per_rack": 4, "rail_bandwidth": "9 GB/s", "rail_latency": "1 us"},
    ),
    ("product", {"dimensions": "R(4)", "bandwidth": ["1 GB/s"], "latency": ["1 ns"]}),
    (
        "product",
        {
            "dimensions": "SW(3)_hypercube(4)_two_level_tree2(4)",
            "bandwidth": ["1 GB/s", "2 GB/s", "3 GB/s"],
            "latency": ["1 ns", "0 ns", "2 ns"],
        },
    ),
]


def built(name: str, options: dict[str, Any]) -> tuple[Builder, Graph]:
    builder = read(name, {**SPEED, **options}, "fabric")
    return builder, graph_of(builder, "fabric")


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_every_fabric_keeps_the_contract(name: str, options: dict[str, Any]) -> None:
    assert first_broken(LAWS, name, *built(name, options)) is None


def test_every_builder_is_among_the_cases_and_its_example_keeps_the_contract() -> None:
    assert {name for name, _ in CASES} == set(builders.names())
    for name in builders.names():
        example = builders.get(name).example
        assert first_broken(LAWS, name, *built(name, dict(example))) is None


@pytest.mark.parametrize(("name", "options"), CASES[::4], ids=str)
def test_cables_lead_both_ways_at_the_same_speed(name: str, options: dict[str, Any]) -> None:
    links = built(name, options)[1].links
    there = sorted(zip(links.start, links.end, links.bytes_per_ns, links.latency_ns, strict=True))
    back = sorted(zip(links.end, links.start, links.bytes_per_ns, links.latency_ns, strict=True))
    assert there == back


@pytest.mark.parametrize(("name", "options"), CASES[::3], ids=str)
def test_distances_are_those_of_a_plain_search(name: str, options: dict[str, Any]) -> None:
    graph = built(name, options)[1]
    links = list(zip(graph.links.start.tolist(), graph.links.end.tolist(), strict=True))
    far = [
        distances_to(to, links)[start]
        for to, start in tuples(range(graph.ranks), repeat=2)
        if start != to
    ]
    found = distances(graph)
    assert found is not None
    assert (found.most, found.mean) == (max(far), pytest.approx(sum(far) / len(far)))


def test_the_switches_of_a_fat_tree_have_k_ports_and_its_ranks_one() -> None:
    ports = built("fat_tree", {"k": 6})[1].ports()
    assert set(ports[:54]) == {1} and set(ports[54:]) == {6}


def test_a_dragonfly_router_has_p_and_a_less_one_and_h_ports() -> None:
    graph = built("dragonfly", {"p": 3, "a": 6, "h": 2})[1]
    assert set(graph.ports()[graph.ranks :]) == {3 + 5 + 2}
    assert graph.ranks == 3 * 6 * 13


@pytest.mark.parametrize(("g", "cables"), [(9, 1), (5, 2), (3, 4), (2, 8), (4, 2)])
def test_any_two_groups_of_a_dragonfly_have_as_many_cables(g: int, cables: int) -> None:
    graph = built("dragonfly", {"p": 1, "a": 4, "h": 2, "g": g})[1]
    far = graph.links.label == graph.labels.index("global")
    first = graph.ranks
    groups = [(column[far] - first) // 4 for column in (graph.links.start, graph.links.end)]
    counts = np.zeros((g, g), int)
    np.add.at(counts, tuple(groups), 1)
    assert (counts + cables * np.eye(g, dtype=int) == cables).all()
    assert graph.ports()[first:].max() <= 1 + 3 + 2


def test_a_gpu_of_a_dgx1_has_four_or_six_nvlinks() -> None:
    for generation, links in (("p100", 4), ("v100", 6)):
        graph = built("dgx1", {"generation": generation})[1]
        rates = np.bincount(graph.links.start, graph.links.bytes_per_ns)
        assert set(rates) == {links * 50.0}


def test_rails_join_equal_places_of_boxes_in_one_leaf() -> None:
    graph = built("rail_optimised", {"boxes": 4, "ranks_per_box": 2, **RAILS})[1]
    up = graph.links.label == graph.labels.index("rank up")
    leaf_of = dict(zip(graph.links.start[up].tolist(), graph.links.end[up].tolist(), strict=True))
    assert {leaf_of[rank] for rank in (0, 2, 4, 6)} == {leaf_of[0]}
    assert leaf_of[0] != leaf_of[1]
    assert [graph.name_of(device) for device in (3, 8, 12)] == ["rank 3", "box switch 0", "leaf 0"]
    assert graph.boxes.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 0, 1, 2, 3, -1, -1]


def test_eight_ranks_on_four_planes_send_with_the_sum_of_the_planes() -> None:
    options = {"planes": 4, "ranks_per_leaf": 8}
    builder, graph = built("multi_plane", options)
    assert figures(graph, builder).injection == (200.0, 200.0)
    assert cuts.least_cut(graph, [0]) == 200.0


def test_two_to_one_oversubscription_halves_the_bisection() -> None:
    options = {"leaves": 4, "ranks_per_leaf": 8, "spines": 4}
    whole = built("leaf_spine", options)[0].bisection()
    half = built("leaf_spine", {**options, "oversubscription": 2})[0].bisection()
    assert whole == 16 * 50.0 and half == whole / 2


@pytest.mark.parametrize(
    ("name", "options", "ranks"),
    [
        ("fat_tree", {"k": 74}, 101_306),
        ("dragonfly", {"p": 13, "a": 26, "h": 13}, 114_582),
        ("torus", {"sizes": [47, 47, 47]}, 103_823),
    ],
)
def test_a_hundred_thousand_hosts_take_seconds_not_minutes(
    name: str, options: dict[str, Any], ranks: int
) -> None:
    begun = process_time()
    graph = built(name, options)[1]
    assert process_time() - begun < 30.0
    assert graph.ranks == ranks and graph.unreached() is None


@pytest.mark.parametrize(
    ("name", "options", "where"),
    [
        ("fat_tree", {"k": 5}, "fabric.k: expected an even number of ports, got 5"),
        ("fat_tree", {}, "fabric.k: missing; expected a whole number"),
        ("fat_tree", {"k": 4, "bandwith": 1}, "fabric.bandwith: unknown key; did you mean"),
        ("fat_treee", {}, "fabric: no fabric is named 'fat_treee'"),
        ("mesh", {"sizes": []}, "fabric.sizes: expected at least one dimension, got none"),
        ("mesh", {"sizes": [4, 1]}, "fabric.sizes[1]: must be at least 2; got 1"),
        ("ring", {"ranks": 1}, "fabric.ranks: must be at least 2; got 1"),
        ("ring", {"ranks": 4, "bandwidth": "0 GB/s"}, "fabric.bandwidth: must be above 0"),
        ("fully_connected", {"ranks": 10**6}, "fabric: fully_connected would have 999999000000 "),
        (
            "leaf_spine",
            {
                "leaves": 2,
                "ranks_per_leaf": 2,
                "spines": 1,
                "oversubscription": 2,
                "uplink_bandwidth": "1 GB/s",
            },
            "fabric.oversubscription: not together with uplink_bandwidth",
        ),
        ("dragonfly", {"p": 1, "a": 2, "h": 1, "g": 4}, "fabric.g: expected at most a h + 1 = 3 g"),
        (
            "rail_optimised",
            {"boxes": 4, "ranks_per_box": 2, "boxes_per_leaf": 3, **RAILS},
            "fabric.boxes_per_leaf: expected a divisor of the 4 boxes, got 3",
        ),
        (
            "rail_optimised",
            {"boxes": 4, "ranks_per_box": 2, "boxes_per_leaf": 2, **RAILS},
            "fabric.spines: expected at least 1, as 2 groups of boxes need them",
        ),
        ("multi_plane", {"planes": 2, "ranks_per_leaf": 2, "leaves": 2}, "fabric.spines: expected"),
        ("dgx1", {"boxes": 2}, "fabric.pcie_bandwidth: missing; needed to join 2 boxes"),
        ("nvl72", {"rail_latency": "1 us"}, "fabric.rail_latency: only with several racks"),
        (
            "product",
            {"dimensions": "R(4)_SW(2)_SW(2)", "bandwidth": 2 * ["1 GB/s"], "latency": "1 ns"},
            "fabric.bandwidth: expected one, or one for each of the 3 dimensions, got 2",
        ),
        (
            "product",
            {"dimensions": "R(4)SW(2)", "bandwidth": [], "latency": []},
            "fabric.dimensions: expected a product of dimensions such as R(4)_FC(8)_SW(32), got",
        ),
        (
            "product",
            {"dimensions": "hypercube(6)", "bandwidth": ["1 GB/s"], "latency": ["1 ns"]},
            "fabric.dimensions: hypercube needs a power of two, got 6",
        ),
        (
            "product",
            {"dimensions": "rung(6)", "bandwidth": ["1 GB/s"], "latency": ["1 ns"]},
            "fabric.dimensions: no topology is named 'rung'",
        ),
    ],
)
def test_what_cannot_be_built_is_refused_at_its_option(
    name: str, options: dict[str, Any], where: str
) -> None:
    speed = {} if name == "product" else SPEED
    with pytest.raises(ConfigError) as raised:
        read(name, {**speed, **options}, "fabric")
    assert str(raised.value).startswith(where)


@st.composite
def small_graphs(draw: st.DrawFn) -> Graph:
    ranks, switches = draw(st.integers(2, 4)), draw(st.integers(0, 3))
    devices = st.integers(0, ranks + switches - 1)
    pairs = draw(st.lists(st.tuples(devices, devices), max_size=12))
    draft = Draft(ranks)
    draft.switches("switch", switches)
    for one, other in pairs:
        if one != other:
            draft.links(one, other, Speed(draw(st.integers(1, 9)), 0.0), "link")
    return draft.graph()


@settings(max_examples=60)
@given(small_graphs(), st.data())
def test_the_largest_flow_is_the_smallest_of_all_cuts(graph: Graph, data: st.DataObject) -> None:
    side = data.draw(st.sets(st.integers(0, graph.ranks - 1), min_size=1))
    free = range(graph.ranks, graph.devices)
    links = [column.tolist() for column in graph.links[:3]]
    sums = []
    for chosen in tuples((False, True), repeat=len(free)):
        inside = side | {device for device, taken in zip(free, chosen, strict=True) if taken}
        cut = (r for a, b, r in zip(*links, strict=True) if a in inside and b not in inside)
        sums.append(sum(cut))
    if len(side) == graph.ranks:
        sums = [0]
    assert cuts.least_cut(graph, side) == pytest.approx(min(sums))


def test_a_bisection_says_how_it_was_found() -> None:
    builder, graph = built("torus", {"sizes": [3, 3]})
    assert bisection(graph, builder).how == "all cuts into halves"
    builder, graph = built("torus", {"sizes": [5, 5]})
    assert bisection(graph, builder).how.startswith("least cut between ranks 0-11 and 12-24; other")
    builder, graph = built("torus", {"sizes": [125, 125]})
    assert bisection(graph, builder).value is None
    builder, graph = built("torus", {"sizes": [4, 4]})
    assert bisection(graph, builder) == (400.0, "formula")


def test_a_price_is_the_sum_over_what_is_priced() -> None:
    builder, graph = built("fat_tree", {"k": 4})
    found = figures(graph, builder, {"core": 1000.0, "rank up": 10.0})
    assert found.price_usd == 4 * 1000 + 16 * 10
    assert as_dict(found)["price_usd"] == 4160
    with pytest.raises(ConfigError, match="no devices and no links are called 'cor'; did you mean"):
        figures(graph, builder, {"cor": 1.0})


def test_what_is_no_graph_is_told() -> None:
    loop, bare, broken = Draft(2), Draft(2), Draft(2)
    loop.links(1, 1, Speed(1.0, 0.0), "link")
    bare.links(0, 1, Speed(0.0, 0.0), "link")
    broken.links(0, 1, Speed(1.0, float("nan")), "link")
    for draft, problem in (
        (loop, "link 0 leads from rank 1 to itself"),
        (bare, "link 0 from rank 0 to rank 1 has no bandwidth"),
        (broken, "link 0 from rank 0 to rank 1 has a negative latency, or none"),
        (Draft(0), "it has no ranks"),
    ):
        with pytest.raises(GraphError, match=problem):
            draft.graph()


def test_distances_that_would_take_minutes_are_left_out() -> None:
    builder, graph = built("ring", {"ranks": 20_000})
    begun = process_time()
    found = figures(graph, builder)
    assert process_time() - begun < 60.0  # of the processor, under a sanitizer, too
    assert found.mean_hops.value is None and found.mean_hops.how.startswith("not computed")
    assert (found.diameter.value, found.diameter.how) == (10_000, "formula")


def test_one_speed_of_a_product_is_that_of_all_its_dimensions() -> None:
    graphs = [
        read(
            "product",
            {"dimensions": "R(4)_FC(2)_SW(2)", "bandwidth": bandwidth, "latency": latency},
            "fabric",
        ).graph()
        for bandwidth, latency in (
            ("1 GB/s", "3 ns"),
            (["1 GB/s"], ["3 ns"]),
            (3 * ["1 GB/s"], 3 * ["3 ns"]),
        )
    ]
    for graph in graphs:
        assert graph.links.bytes_per_ns.tolist() == graphs[-1].links.bytes_per_ns.tolist()
        assert graph.links.latency_ns.tolist() == graphs[-1].links.latency_ns.tolist()
        assert set(graph.links.latency_ns.tolist()) == {3.0}
