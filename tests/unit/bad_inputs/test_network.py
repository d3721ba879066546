"""Network files that ASTRA-sim refuses or crashes on, and what Yantra does with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from yantra.base.errors import ConfigError

LISTS = {"topology": "[Ring]", "npus_count": "[4]", "bandwidth": "[50]", "latency": "[500]"}


def lists(**changes: str) -> str:
    return "\n".join(f"{key}: {text}" for key, text in (LISTS | changes).items() if text)


CASES: list[tuple[str, str]] = [
    ("", 'network.yml: "topology": missing; expected a list with one entry per dimension'),
    (
        lists(npus_count=""),
        'network.yml: "npus_count": missing; expected a list with one entry per dimension',
    ),
    ("- Ring", 'network.yml: expected a mapping with topology, npus_count, ..., got ["Ring"]'),
    (
        lists(topology="Ring"),
        'network.yml: "topology": expected a list with one entry per dimension, got "Ring"',
    ),
    (
        lists(topology="[[Ring]]"),
        'network.yml: "topology": expected a list with one entry per dimension, got [["Ring"]]',
    ),
    (lists(topology="[]"), 'network.yml: "topology": expected at least one dimension, got []'),
    (
        lists(npus_count="[4, 2]"),
        'network.yml: "npus_count": has 2 entries, but "topology" has 1; expected one entry per '
        "dimension",
    ),
    (
        lists(topology="[Mesh]"),
        'network.yml: "topology[0]": unknown topology; expected Ring, FullyConnected or Switch, '
        'got "Mesh"',
    ),
    (
        lists(topology="[Fully_Connected]"),
        'network.yml: "topology[0]": unknown topology; expected Ring, FullyConnected or Switch, '
        "got \"Fully_Connected\"; did you mean 'FullyConnected'?",
    ),
    (lists(npus_count="[1]"), 'network.yml: "npus_count[0]": must be at least 2; got 1'),
    (lists(npus_count="[-4]"), 'network.yml: "npus_count[0]": must be at least 2; got -4'),
    (lists(npus_count="[4.0]"), 'network.yml: "npus_count[0]": expected an integer, got "4.0"'),
    (lists(npus_count="[08]"), 'network.yml: "npus_count[0]": expected an integer, got "08"'),
    (lists(npus_count="[0o7]"), 'network.yml: "npus_count[0]": expected an integer, got "0o7"'),
    (
        lists(npus_count="[4000000000]"),
        'network.yml: "npus_count[0]": expected an integer below 2147483648, got "4000000000"',
    ),
    (lists(bandwidth="[tbd]"), 'network.yml: "bandwidth[0]": expected a number, got "tbd"'),
    (lists(bandwidth="[inf]"), 'network.yml: "bandwidth[0]": expected a number, got "inf"'),
    (lists(bandwidth="[.nan]"), 'network.yml: "bandwidth[0]": expected a number, got ".nan"'),
    (lists(latency="[.inf]"), 'network.yml: "latency[0]": expected a number, got ".inf"'),
    (lists(bandwidth="[1_000]"), 'network.yml: "bandwidth[0]": expected a number, got "1_000"'),
    (lists(bandwidth="[1e999]"), 'network.yml: "bandwidth[0]": expected a number, got "1e999"'),
    (lists(bandwidth="[0]"), 'network.yml: "bandwidth[0]": must be above 0 (GB/s); got 0'),
    (lists(latency="[-1]"), 'network.yml: "latency[0]": must be at least 0 (ns); got -1'),
    (
        "topology: [Ring]\nnpus_count: [4\nbandwidth: [50]",
        "network.yml, line 3, column 10: not YAML: did not find expected ',' or ']'",
    ),
    (
        '{"topology-name": "Hierarchical", "topologies-per-dim": ["Ring", "FullyConnected"], '
        '"units-count": [2, 8], "links-count": [2, 7], "link-latency": [500, 600], '
        '"link-bandwidth": [250, 12.5]}',
        "network.yml: this is a network file of ASTRA-sim 1.0, which ASTRA-sim 2 does not read; "
        "write its dimensions as YAML:\n"
        "topology: [Ring, FullyConnected]\nnpus_count: [2, 8]\n"
        "bandwidth: [500.0, 12.5]\nlatency: [500.0, 600.0]\n"
        "(docs/reference/astra-sim.md, Files of ASTRA-sim 1.0)",
    ),
    (
        '{"units-count": [2], "link-bandwidth": [250]}',
        "network.yml: this is a network file of ASTRA-sim 1.0, which ASTRA-sim 2 does not read; "
        "write its dimensions as YAML (docs/reference/astra-sim.md, Files of ASTRA-sim 1.0)",
    ),
    (
        "num-npus: 8\nnum-packages: 4\ntopology: Torus3D\nlocal-rings: 2\nflit-width: 2048\n",
        "network.yml: this is a network file of ASTRA-sim 1.0 for Garnet, which nothing here "
        "models",
    ),
]


@pytest.mark.parametrize(("network", "message"), CASES, ids=[text for _, text in CASES])
def test_a_bad_network_file_is_explained(
    read: Callable[..., Any], network: str, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(network=network)
    assert str(caught.value) == message


def test_several_congestion_aware_dimensions_are_allowed_with_a_warning(
    read: Callable[..., Any],
) -> None:
    network = lists(
        topology="[Ring, Ring]", npus_count="[2, 4]", bandwidth="[1, 1]", latency="[1, 1]"
    )
    scenario, warnings = read(network=network, network_backend="congestion-aware")
    assert scenario.topology.ranks == 8
    assert warnings[:1] == [
        'network.yml: "topology": ASTRA-sim refuses a congestion-aware network of 2 dimensions; '
        "here a message crosses them in ascending order"
    ]


def test_a_congestion_aware_ring_of_two_is_allowed_with_a_warning(
    read: Callable[..., Any],
) -> None:
    network = lists(npus_count="[2]")
    scenario, warnings = read(network=network, network_backend="congestion-aware")
    assert scenario.topology.ranks == 2
    assert warnings == [
        'network.yml: "npus_count[0]": ASTRA-sim aborts on a congestion-aware Ring of 2 NPUs, as '
        "both directions join one pair; here that pair has one link each way"
    ]
    assert read(network=network)[1] == []
