"""Networks on chip under synthetic traffic: bounds that all keep, and what is refused."""

from __future__ import annotations

import json
from math import ceil
from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.network import noc
from yantra.network.noc import Load, Noc

MESH = Noc("mesh", (8, 8))
LONG = Load(sample_cycles=4000)


def _load(traffic: str, **more: Any) -> Load:
    return Load(traffic, **more)


@pytest.mark.parametrize("router", noc.routers())
@pytest.mark.parametrize("routing", noc.routings())
@pytest.mark.parametrize("traffic", noc.traffics())
def test_what_is_offered_below_saturation_is_accepted(
    router: str, routing: str, traffic: str
) -> None:
    network = Noc("mesh", (4, 4), router=router, routing=routing)
    rate = 0.04 if traffic == "hotspot" else 0.1
    point = noc.measure(network, _load(traffic, sample_cycles=3000), rate)
    assert point.is_stable
    assert abs(point.accepted / rate - 1) < 0.05
    assert point.latency_p50 <= point.latency_p99 <= point.latency_most
    assert point.network_latency <= point.packet_latency <= point.latency_most
    zero = noc.zero_load_latency(network, _load(traffic))
    assert 0.93 * zero < point.packet_latency < 2 * zero


# Dally and Towles 2004, section 3.2: flits a node and cycle that the channels in the middle allow.
BOUNDS = {
    ("mesh", 8, "uniform"): 4 / 8,
    ("mesh", 4, "uniform"): 1.0,
    ("torus", 8, "uniform"): 8 / 8,
    ("torus", 8, "tornado"): 1 / (ceil(8 / 2) - 1),
    ("mesh", 4, "hotspot"): 1 / 16,
}


@pytest.mark.parametrize(("shape", "bound"), BOUNDS.items(), ids=str)
def test_no_more_is_accepted_than_channels_carry(shape: tuple[str, int, str], bound: float) -> None:
    topology, size, traffic = shape
    network = Noc(topology, (size, size), vcs=8, buffer_flits=16)
    most = noc.measure(network, Load(traffic, sample_cycles=2000), 1.0).accepted
    assert 0 < most < bound + 0.01


def test_latency_grows_with_load() -> None:
    found = noc.curve(MESH, LONG, points=5, within=0.02)
    latencies = [point.packet_latency for point in found.points]
    assert latencies == sorted(latencies)
    assert found.zero_load_latency < latencies[0] < 1.1 * found.zero_load_latency
    assert 0 < found.stable < found.unstable <= found.stable + 0.02


def test_zero_load_latency_is_the_sum_of_stages() -> None:
    neighbours = _load("neighbour")
    torus = Noc("torus", (4, 4), packet_flits=5)
    assert noc.zero_load_latency(torus, neighbours) == 5 * 3 + 2 + 4
    assert noc.zero_load_latency(torus._replace(link_cycles=3), neighbours) == 5 * 3 + 2 + 4 + 2 * 2
    fast = torus._replace(router="one_stage")
    assert noc.zero_load_latency(fast, neighbours) == 2 * 3 + 2 + 4
    assert noc.zero_load_latency(fast._replace(router_cycles=3), neighbours) == 4 * 3 + 2 + 4
    ring = Noc("ring", (6,))
    assert noc.zero_load_latency(ring, _load("bit_complement")) == pytest.approx(
        5 * (1 + (1 + 3 + 1) / 3) + 2
    )
    shared = Noc("concentrated_mesh", (2, 2), nodes_per_router=4)
    assert noc.zero_load_latency(shared, _load("uniform")) == 5 * 2 + 2


def test_adaptive_takes_more_transposed_traffic_than_dimension_order() -> None:
    load = _load("transpose")
    fixed = noc.saturation(MESH, load, 0.02)
    assert fixed[0] < 1 / 6  # of the flits that cross a corner, 1 / 7
    assert noc.saturation(MESH._replace(routing="adaptive"), load, 0.02)[0] > 1.4 * fixed[1]


def test_west_first_spreads_what_goes_east() -> None:
    load = _load("shuffle")
    fixed = noc.measure(MESH, load, 0.24).packet_latency
    assert noc.measure(MESH._replace(routing="west_first"), load, 0.24).packet_latency < fixed


REFUSED = {
    "sizes": [MESH._replace(sizes=(8, 1)), Noc("ring", (4, 4)), MESH._replace(sizes=())],
    "topology": [MESH._replace(topology="mehs")],
    "nodes_per_router": [MESH._replace(nodes_per_router=4), Noc("concentrated_mesh", (4, 4))],
    "vcs": [MESH._replace(vcs=0), MESH._replace(vcs=65)],
    "buffer_flits": [MESH._replace(buffer_flits=0)],
    "packet_flits": [MESH._replace(packet_flits=2**24)],
    "link_cycles": [MESH._replace(link_cycles=2**20)],
    "router": [MESH._replace(router="two_stage")],
    "router_cycles": [MESH._replace(router_cycles=2)],
    "routing": [
        MESH._replace(routing="yx"),
        MESH._replace(routing="adaptive", vcs=1),
        Noc("torus", (4, 4), vcs=1),
        Noc("torus", (4, 4), routing="west_first"),
    ],
    "seed": [MESH._replace(seed=-1)],
}


@pytest.mark.parametrize("where", REFUSED)
def test_what_cannot_be_built_is_named(where: str) -> None:
    for network in REFUSED[where]:
        with pytest.raises(ConfigError) as refused:
            noc.measure(network, Load(), 0.1)
        assert refused.value.where == where, network


def test_loads_that_cannot_be_are_named() -> None:
    wrong = {
        "traffic": (Load("unifrom"), Load("transpose")),
        "hotspot": (Load("hotspot", hotspot=12),),
        "samples": (Load(samples=3),),
        "unstable_cycles": (Load(unstable_cycles=0.0),),
    }
    network = Noc("mesh", (4, 3))
    for where, loads in wrong.items():
        for load in loads:
            with pytest.raises(ConfigError) as refused:
                noc.measure(network, load, 0.1)
            assert refused.value.where == where
    for rate in (0.0, -1.0, 1.01, float("nan")):
        with pytest.raises(ConfigError, match="rate"):
            noc.measure(network, Load(), rate)


def test_the_command_says_what_the_function_does(capsys: pytest.CaptureFixture[str]) -> None:
    line = "network noc --topology torus --sizes 4x4 --traffic tornado --packet-flits 2"
    assert main([*line.split(), "--rate", "0.2", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    network, load = Noc("torus", (4, 4), packet_flits=2), Load("tornado")
    point = noc.measure(network, load, 0.2)
    assert said["points"][0]["packet_latency"] == point.packet_latency
    assert said["zero_load_latency"] == noc.zero_load_latency(network, load)
    assert main([*line.split(), "--rate", "0.9"]) == 0
    assert "0.9 is more than the network takes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("--sizes 4x4", "expected either --rate FLITS or --curve"),
        ("--sizes 4x4 --rate 0.1 --curve", "expected either --rate FLITS or --curve"),
        ("--sizes 4by4 --rate 0.1", "--sizes: expected routers by dimension, such as 8x8"),
        ("--sizes 4x4 --rate 2", "--rate: more than 0 and at most 1 flit a node and cycle"),
        ("--sizes 4x4 --rate 0.1 --vcs 99", "--vcs: 1 to 64 is expected, not 99"),
    ],
)
def test_a_wrong_command_names_the_option(
    rest: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["network", "noc", "--topology", "mesh", *rest.split()]) == 2
    assert said in capsys.readouterr().err
