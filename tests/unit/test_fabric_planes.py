"""Planes add up, and rails stay in their leaf."""

from __future__ import annotations

import numpy as np
import pytest

from yantra import _core
from yantra.compile.fabric import native
from yantra.fabric.graphs.describe import shown


def test_eight_gpus_reach_the_sum_of_four_planes() -> None:
    options = {"planes": 4, "leaves": 1, "ranks_per_leaf": 8, "bandwidth": "50 GB/s"}
    graph = shown("multi_plane", {**options, "latency": "0 ns"}).graph
    links = graph.links
    routes = []
    for rank in range(8):
        for up in np.flatnonzero(links.start == rank):
            to = (links.start == links.end[up]) & (links.end == (rank + 1) % 8)
            routes.append([int(up), int(np.flatnonzero(to)[0])])
    assert len(routes) == 32
    times = _core.share_flows(
        first_hop=np.arange(0, 65, 2, dtype=np.uint64),
        hops=np.array(routes, dtype=np.uint32).ravel(),
        bytes=np.full(32, 1e6),
        start_ns=np.zeros(32),
        bytes_per_ns=links.bytes_per_ns,
        latency_ns=links.latency_ns,
    )
    assert times.run_for(2**63)
    assert np.asarray(times.end_ns) == pytest.approx(1e6 / 50, rel=1e-12)


def test_traffic_between_equal_places_of_boxes_stays_in_one_leaf() -> None:
    graph = shown("rail_optimised", {}).graph
    boxes = graph.boxes[: graph.ranks]
    per_box = int((boxes == 0).sum())
    router = _core.Router(native(graph), "ecmp", {"stay_in_box": 1.0})
    for rail in range(per_box):
        path = router.path(rail, per_box + rail)
        assert len(path) == 2
        middle = int(graph.links.end[path[0]])
        assert graph.name_of(middle).startswith("leaf"), "over the leaf of its rail"
    for other in range(1, per_box):
        inside = router.path(0, other)
        assert all(graph.boxes[graph.links.end[link]] == 0 for link in inside)
