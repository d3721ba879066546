"""The laws of topologies catch each mistake, and name it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clusters import dimension, scenario
from tests.oracles.graphs import next_device
from yantra.base.errors import ConfigError
from yantra.chakra import TraceBuilder
from yantra.compile import compile
from yantra.fabric.topologies import topologies
from yantra.fabric.topologies.contract import violations
from yantra.fabric.topologies.fully_connected import FullyConnected
from yantra.fabric.topologies.mesh import Mesh
from yantra.fabric.topologies.ring import Ring
from yantra.fabric.topologies.routes import shortest_ways
from yantra.fabric.topologies.switch import Switch
from yantra.fabric.topologies.topology import Block, Link


class Loop(Mesh):
    def links(self, n: int) -> Iterable[Link]:
        return [*super().links(n), (1, 1)]


class Twice(Mesh):
    def links(self, n: int) -> Iterable[Link]:
        return [*super().links(n), (0, 1)]


class TooFar(Mesh):
    def links(self, n: int) -> Iterable[Link]:
        return [*super().links(n), (0, n)]


class Halves(Mesh):
    def links(self, n: int) -> Iterable[Any]:
        return [(n / 2, 0)]


class Triple(Mesh):
    def links(self, n: int) -> Iterable[Any]:
        return [(0, 1, 2)]


class NegativeSwitches(Switch):
    native = None

    def switches(self, n: int) -> int:
        return -1


class OneWay(Block):
    def links(self, n: int) -> Iterable[Link]:
        return [(rank, rank + 1) for rank in range(n - 1)]


class Jumps(Mesh):
    def next_device(self, n: int, at: int, to: int) -> int:
        return to


class Hesitates(Mesh):
    def next_device(self, n: int, at: int, to: int) -> int:
        return at + 1 if at < n - 1 and at % 2 == 0 else at - 1


class Wanders(Mesh):
    def next_device(self, n: int, at: int, to: int) -> Any:
        return float(at + 1)


class LongWayBack(Block):
    symmetric = True

    def links(self, n: int) -> Iterable[Link]:
        return [(rank, (rank + 1) % n) for rank in range(n)]


class NotThatRing(LongWayBack):
    native = "ring"
    symmetric = False


class OtherRoutes(Ring):
    def next_device(self, n: int, at: int, to: int) -> int:
        return (at - 1) % n if 2 * ((to - at) % n) == n else super().next_device(n, at, to)


class Forgetful(Mesh):
    asked = 0

    def links(self, n: int) -> Iterable[Link]:
        Forgetful.asked += 1
        links = list(super().links(n))
        return links if Forgetful.asked % 2 else reversed(links)


class TooGreat(FullyConnected):
    def supports(self, n: int) -> str | None:
        return f"needs a thousand ranks, got {n}" if n < 1000 else None


class UpOnly(Block):
    def switches(self, n: int) -> int:
        return 1

    def links(self, n: int) -> Iterable[Link]:
        return [(rank, n) for rank in range(n)]


SAID = {
    Loop: "2 ranks: every_route_arrives: link 2 leads from device 1 to itself",
    Twice: "2 ranks: every_route_arrives: the link from device 0 to 1 is named more than once",
    TooFar: "2 ranks: every_route_arrives: link 2 (0, 2) joins 2; devices are 0 to 1",
    Halves: "2 ranks: every_route_arrives: link 0 (1.0, 0) joins 1.0; devices are 0 to 1",
    Triple: "2 ranks: every_route_arrives: link 0 is (0, 1, 2); expected two devices (from, to)",
    NegativeSwitches: "2 ranks: every_route_arrives: it has -1 switches; expected a whole number "
    "from 0",
    OneWay: "2 ranks: every_route_arrives: the route from rank 1 to 0 ends at device 1: no links "
    "lead on to it",
    Jumps: "3 ranks: every_route_arrives: the route from rank 2 to 0 goes from device 2 to 0, but "
    "no link does",
    Hesitates: "3 ranks: every_route_arrives: the route from rank 0 to 2 comes back to device 0",
    Wanders: "2 ranks: every_route_arrives: the route from rank 1 to 0 goes from device 1 to 2.0, "
    "but no link does",
    LongWayBack: "3 ranks: there_and_back_are_as_far_if_it_says_so: 1 hops from 0 to 1, but 2 back",
    NotThatRing: "3 ranks: the_native_form_is_the_same_network: it has other links than ring, "
    "which it names as its native form",
    OtherRoutes: "4 ranks: the_native_form_is_the_same_network: it goes from 0 to 2 by [0, 3, 2], "
    "its native form by [0, 1, 2]",
    Forgetful: "2 ranks: the_same_is_said_twice: asked twice, it gives two networks",
    TooGreat: "it supports none of 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 24, 32, "
    "36, 64 ranks: needs a thousand ranks, got 2",
    UpOnly: "2 ranks: every_route_arrives: the route from rank 1 to 0 ends at device 1: no links "
    "lead on to it",
}


@pytest.mark.parametrize("broken", SAID, ids=lambda broken: broken.__name__)
def test_a_broken_topology_is_told_what_is_wrong(broken: type[Block]) -> None:
    assert next(violations(broken())) == SAID[broken]


def test_a_broken_topology_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    get = topologies.get
    monkeypatch.setattr(
        topologies, "get", lambda name, where: OneWay if name == "one_way" else get(name, where)
    )
    with pytest.raises(ConfigError) as caught:
        compile(scenario([TraceBuilder()] * 4, dimension("ring", 2), dimension("one_way", 2)))
    assert str(caught.value) == (
        "cluster.topology[1].kind: one_way is broken over 2 ranks: the route from rank 1 to 0 ends "
        "at device 1: no links lead on to it; check it with yantra contract topology one_way"
    )


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, int, list[Link]]:
    n = draw(st.integers(2, 6))
    devices = n + draw(st.integers(0, 3))
    pairs = [(a, b) for a in range(devices) for b in range(devices) if a != b]
    return n, devices, draw(st.lists(st.sampled_from(pairs), unique=True, max_size=20))


@given(graphs())
def test_the_shortest_way_goes_over_the_lowest_of_the_nearest_devices(
    graph: tuple[int, int, list[Link]],
) -> None:
    n, devices, links = graph
    step = shortest_ways(n, devices, links)
    for to in range(n):
        for at in range(devices):
            if at != to:
                assert step(at, to) == next_device(at, to, links)
