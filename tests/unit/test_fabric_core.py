"""The graph of a fabric and the routings over it, as Python sees them."""

from __future__ import annotations

import numpy as np
import pytest

from yantra import _core
from yantra.compile.fabric import native
from yantra.fabric.graphs.describe import shown


def graph(count: int, kinds: list[int], pairs: list[tuple[int, int]], **given: object) -> object:
    ends = np.array([end for a, b in pairs for end in ((a, b), (b, a))], dtype=np.int32)
    links = len(ends)
    columns: dict[str, object] = {
        "ranks": count,
        "kinds": np.array(kinds, dtype=np.uint8),
        "link_from": np.ascontiguousarray(ends[:, 0]),
        "link_to": np.ascontiguousarray(ends[:, 1]),
        "bytes_per_ns": np.ones(links),
        "latency_ns": np.ones(links),
        "buffer_bytes": np.zeros(links, dtype=np.int64),
        "label": np.zeros(links, dtype=np.int32),
        "labels": ["all"],
        "weight": np.ones(links),
    }
    return _core.FabricGraph(**(columns | given))  # type: ignore[arg-type]


def star(**given: object) -> object:
    return graph(3, [0, 0, 0, 1], [(0, 3), (1, 3), (2, 3)], **given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ranks": 9}, "9 ranks among 4 devices"),
        ({"weight": np.zeros(6)}, r"link 0: a routing weight of 0.0+; expected more than 0"),
        ({"bytes_per_ns": np.full(6, np.nan)}, "link 0: a bandwidth of nan GB/s"),
        ({"latency_ns": np.full(6, -1.0)}, r"link 0: a latency of -1.0+ ns; expected 0 or more"),
        ({"label": np.full(6, 4, dtype=np.int32)}, "link 0: label 4 of 1"),
        ({"link_to": np.full(6, -1, dtype=np.int32)}, "a device below 0"),
        (
            {"link_to": np.full(6, 7, dtype=np.int32)},
            "link 0: from device 0 to 7; there are 4",
        ),
        ({"weight": np.ones(5)}, "a column of 5 links beside one of 6"),
        ({"box": np.zeros(2, dtype=np.int32)}, "2 boxes; expected one for every device or every"),
        ({"coordinates": np.zeros((3, 2), dtype=np.int32)}, "coordinates of another number"),
    ],
)
def test_what_is_no_graph_is_refused_by_name(given: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        star(**given)


def test_every_routing_joins_two_ranks_over_a_switch_by_the_two_links_there_are() -> None:
    of = star(coordinates=np.array([[0], [1], [2], [-1]], dtype=np.int32))
    names = [kind.name for kind in _core.routing_kinds()]
    assert {"shortest", "ecmp", "spray", "adaptive", "valiant", "up_down"} < set(names)
    for name in names:
        router = _core.Router(of, name)  # type: ignore[arg-type]
        assert router.path(0, 2) == [0, 5], name
        assert router.path(1, 1) == []


def test_many_paths_are_those_of_each() -> None:
    pairs = [(rank, 4 + rank // 2) for rank in range(4)]
    of = graph(
        4, [0] * 4 + [1] * 5, pairs + [(leaf, spine) for leaf in (4, 5) for spine in (6, 7, 8)]
    )
    router = _core.Router(of, "ecmp", seed=3)  # type: ignore[arg-type]
    sources = np.array([0, 1, 2, 3, 0], dtype=np.int32)
    destinations = np.array([3, 2, 0, 2, 0], dtype=np.int32)
    numbers = np.arange(5)
    paths = router.paths(sources, destinations, numbers)
    for at in range(5):
        links = list(paths.links[paths.first[at] : paths.first[at + 1]])
        one = router.path(int(sources[at]), int(destinations[at]), number=int(numbers[at]))
        assert links == one


def test_a_routing_or_an_option_that_is_not_there_is_refused() -> None:
    for name, options, said in (
        ("ecpm", {}, "no routing is named 'ecpm'"),
        ("ecmp", {"weights": 1.0}, "routing ecmp has no option 'weights'"),
        ("dimension_ordered", {}, "needs the coordinates of a grid"),
    ):
        with pytest.raises(ValueError, match=said):
            _core.Router(star(), name, options)  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="a rank that the fabric does not have"):
        _core.Router(star()).path(0, 3)  # type: ignore[arg-type]


def test_ranks_without_a_way_between_them_are_named() -> None:
    of = graph(3, [0, 0, 0], [(0, 1)])
    with pytest.raises(_core.Unsupported, match="no way from rank 0 to rank 2"):
        _core.Router(of).path(0, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [4, 6])
def test_by_the_number_of_the_destination_every_shift_of_a_fat_tree_meets_nowhere(k: int) -> None:
    graph = shown("fat_tree", {"k": k}).graph
    router = _core.Router(native(graph), "d_mod_k")
    below: dict[int, set[int]] = {}
    for shift in range(1, graph.ranks):
        taken: set[int] = set()
        for source in range(graph.ranks):
            destination = (source + shift) % graph.ranks
            path = router.path(source, destination)
            assert not taken & set(path), "two flows of a shift over one link"
            taken |= set(path)
            if len(path) == 6:
                below.setdefault(destination, set()).add(int(graph.links.end[path[2]]))
    assert all(len(tops) == 1 for tops in below.values())
    counts = np.bincount([top for (top,) in below.values()])
    assert set(counts[counts > 0].tolist()) == {graph.ranks * 4 // k**2}
