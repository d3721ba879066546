"""Networks of a configuration: fat trees, dimensions of graphs, ns-3's options, InfraGraph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.service import calls
from tests.service.calls import Client
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.fabric.graphs import files as graph_files
from yantra.service import dimensions, fat_tree, infragraph, packets
from yantra.service.messages import encode

# The fat tree of ASTRA-sim Service's sample: 8 hosts, pods of 4, three tiers.
SAMPLE = """Nodes 8
Tiers 3
Podsize 4
Tier 0
downlink_speed_gbps 200
radix_up 2
radix_down 2
downlink_latency_ns 1000
Tier 1
downlink_speed_gbps 200
radix_up 4
radix_down 2
bundle 1
downlink_latency_ns 1000
Tier 2
downlink_speed_gbps 100
radix_down 4
bundle 2
downlink_latency_ns 1000
"""


@given(
    racks=st.integers(1, 4), hosts=st.integers(1, 4), uplinks=st.integers(1, 3),
    pods=st.integers(1, 3), cores=st.integers(1, 3), bundle=st.integers(1, 2),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_every_switch_of_a_fat_tree_has_the_links_that_its_radix_says(
    racks: int, hosts: int, uplinks: int, pods: int, cores: int, bundle: int
) -> None:
    nodes = racks * hosts * pods
    text = (
        f"Nodes {nodes}\nTiers 3\nPodsize {racks * hosts}\n"
        f"Tier 0\ndownlink_speed_gbps 100\nradix_down {hosts}\nradix_up {uplinks * bundle}\n"
        f"Tier 1\ndownlink_speed_gbps 100\nradix_up {cores * bundle}\nbundle {bundle}\n"
        f"Tier 2\ndownlink_speed_gbps 100\nradix_down {pods * bundle}\nbundle {bundle}\n"
    )
    cables = list(fat_tree.cables(text, "htsim.topo"))
    down: dict[str, int] = {}
    up: dict[str, int] = {}
    for cable in cables:
        down[cable.above] = down.get(cable.above, 0) + 1
        up[cable.below] = up.get(cable.below, 0) + 1
    expected = {"rack": hosts, "pod": racks * bundle, "core": pods * bundle}
    assert all(count == expected[name.split()[0]] for name, count in down.items())
    above = {"rack": uplinks * bundle, "pod": cores * bundle}
    assert all(count == above.get(name.split()[0], 1) for name, count in up.items())
    assert sum(name.startswith("core") for name in down) == uplinks * cores


def test_the_sample_fat_tree_has_the_switches_of_htsim(tmp_path: Path) -> None:
    topology = tmp_path / "htsim.topo"
    topology.write_text(SAMPLE)
    graph = graph_files.read(fat_tree.write_links(str(topology)))
    assert graph.ranks == 8
    assert graph.devices == 8 + 4 + 4 + 4
    assert len(graph.links.start) == 2 * (8 + 8 + 16)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("Podsize 3", "Nodes: is 8; expected a multiple of 3"),
        ("Tiers 4", "expected 2 or 3"),
        ("Nodes none", "expected a whole number"),
        ("Tier 3", "expected Tier 0, 1 or 2"),
    ],
)
def test_a_wrong_fat_tree_is_refused_by_its_field(wrong: str, expected: str) -> None:
    name = wrong.split()[0]
    lines = [wrong if line.split()[0] == name else line for line in SAMPLE.splitlines()]
    with pytest.raises(ConfigError, match=expected):
        list(fat_tree.cables("\n".join(lines), "htsim.topo"))


def _graph(folder: Path, pairs: list[tuple[str, str]]) -> Any:
    path = folder / "graph.csv"
    rows = [f"{one},{other},40 GB/s,200 ns" for one, other in pairs]
    path.write_text("\n".join(["from,to,bandwidth,latency", *rows]) + "\n")
    return graph_files.read(str(path))


def _ring(ranks: list[int]) -> list[tuple[str, str]]:
    return [(str(one), str(ranks[(at + 1) % len(ranks)])) for at, one in enumerate(ranks)]


def _mesh(ranks: list[int]) -> list[tuple[str, str]]:
    return [(str(a), str(b)) for at, a in enumerate(ranks) for b in ranks[at + 1 :]]


TORUS = [
    pair
    for y in range(3)
    for x in range(4)
    for pair in (
        (str(4 * y + x), str(4 * y + (x + 1) % 4)),
        (str(4 * y + x), str(4 * ((y + 1) % 3) + x)),
    )
]
BOXES = [
    *_mesh([0, 1, 2, 3]),
    *_mesh([4, 5, 6, 7]),
    *((str(rank), "switch") for rank in range(8)),
]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (_ring(list(range(6))), [("Ring", 6)]),
        (_mesh(list(range(5))), [("FullyConnected", 5)]),
        ([(str(rank), "s") for rank in range(8)], [("Switch", 8)]),
        (TORUS, [("Ring", 4), ("Ring", 3)]),
        (BOXES, [("FullyConnected", 4), ("Switch", 2)]),
    ],
    ids=["ring", "mesh", "switch", "torus", "meshes behind a switch"],
)
def test_a_graph_has_the_dimensions_that_it_was_made_of(
    pairs: list[tuple[str, str]], expected: list[tuple[str, int]], tmp_path: Path
) -> None:
    shapes = dimensions.shapes_of(_graph(tmp_path, pairs), "graph")
    assert [(shape.kind, shape.size) for shape in shapes] == expected
    assert shapes[0].bytes_per_ns == 40
    assert shapes[0].latency_ns == 200


def test_a_graph_that_is_no_product_is_refused(tmp_path: Path) -> None:
    pairs = [("0", "1"), ("1", "2"), ("2", "3")]
    with pytest.raises(UnsupportedError, match="not a product of up to 3 rings"):
        dimensions.shapes_of(_graph(tmp_path, pairs), "graph")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("", {"congestion_control": "none", "window": "variable", "payload": 1000.0}),
        ("CC_MODE 3\nHAS_WIN 1\nVAR_WIN 0", {"congestion_control": "hpcc", "window": "static"}),
        ("CC_MODE 1\nHAS_WIN 0", {"congestion_control": "dcqcn", "window": "unlimited"}),
        ("PACKET_PAYLOAD_SIZE 8192\nBUFFER_SIZE 64", {"payload": 8192.0, "buffer": 64.0 * 2**20}),
    ],
)
def test_the_options_of_ns3_are_those_of_the_packet_network(
    lines: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "network_config.txt"
    path.write_text(lines)
    network, warnings = packets.read(str(path))
    given = dict(network.options)
    assert {key: given[key] for key in expected} == expected
    assert bool(warnings) == (given["congestion_control"] != "none")


@pytest.mark.parametrize("line", ["ERROR_RATE_PER_LINK 0.1", "LINK_DOWN 5 0 1", "CC_MODE 2"])
def test_what_no_network_here_models_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "network_config.txt"
    path.write_text(line)
    with pytest.raises(ConfigError, match=line.split()[0]):
        packets.read(str(path))


NEWER = {
    "nodes": [{"name": "host", "attributes": [{"attribute": "device_type", "value": "host"}]}],
    "links": [{"name": "nvlink", "attributes": [{"attribute": "link_latency_ms", "value": "0.5"}]}],
}
OLDER = {
    "link_specifications": [{"link_name": "nvlink", "link_latency_ms": 0.5}],
    "device_specifications": [{"device_name": "host", "device_type": "host"}],
}


def test_annotations_of_both_versions_say_the_same_of_links() -> None:
    newer = infragraph.read_annotations(encode("Annotation", NEWER))
    older = infragraph.read_annotations(encode("Annotations", OLDER))

    def latencies(annotations: dict[str, Any]) -> list[tuple[str, float]]:
        return [
            (link["name"], float(pair["value"]))
            for link in annotations["links"]
            for pair in link["attributes"]
            if pair["attribute"] == "link_latency_ms"
        ]

    assert latencies(newer) == latencies(older) == [("nvlink", 0.5)]


NS3 = {
    "network": {"cc_mode": 12, "packet_payload_size": 8192, "has_win": 1, "var_win": 1},
    "logical_topology": {"logical_dimensions": [calls.RANKS]},
    "topology": {
        "choice": "nc_topology",
        "nc_topology": {
            "total_nodes": calls.RANKS + 1,
            "total_switches": 1,
            "total_links": calls.RANKS,
            "switch_ids": [calls.RANKS],
            "connections": [
                {
                    "source_index": rank,
                    "destination_index": calls.RANKS,
                    "bandwidth": "100Gbps",
                    "latency": "0.005ms",
                    "error_rate": "0",
                }
                for rank in range(calls.RANKS)
            ],
        },
    },
}


def test_flow_times_of_ns3_hold_every_byte_of_the_ring(client: Client) -> None:
    client.upload(calls.traces())
    client.call("SetConfig", {"config": calls.config("ns3", NS3)})
    assert client.run("ns3") == "completed"
    rows = [line.split() for line in client.result("fct.txt").splitlines()]
    assert all(len(row) == 8 for row in rows)
    sent = sum(int(row[4]) for row in rows)
    assert sent == 2 * (calls.RANKS - 1) * calls.BYTES
    alone_ns = 2 * 5000 + calls.BYTES / calls.RANKS / 4 / 12.5
    assert min(int(row[6]) for row in rows) >= alone_ns
    first = {row[0] for row in rows}
    assert first == {f"{0x0B000001 + rank * 0x100:08x}" for rank in range(calls.RANKS)}


def test_htsim_runs_over_its_fat_tree_and_says_what_is_not_modelled(client: Client) -> None:
    tier = {"downlink_speed_gbps": 200, "radix_down": 2, "radix_up": 2, "downlink_latency_ns": 1000}
    network = {
        "htsim_protocol": {"choice": "tcp", "tcp": {"nodes": "8"}},
        "topology": {
            "choice": "network_topology_configuration",
            "network_topology_configuration": {
                "network": calls.analytical()["topology"]["network"],
                "htsim_topology": {
                    "choice": "fat_tree",
                    "fat_tree": {
                        "nodes": 8,
                        "tiers": 3,
                        "podsize": 4,
                        "tier_0": tier,
                        "tier_1": tier | {"radix_up": 4, "bundle": 1},
                        "tier_2": {"downlink_speed_gbps": 100, "radix_down": 4, "bundle": 2},
                    },
                },
            },
        },
    }
    client.upload(calls.traces())
    client.call("SetConfig", {"config": calls.config("htsim", network)})
    assert client.run("htsim") == "completed"
    assert "TCP is not modelled" in client.result("simulation.log")


def _infrastructure(count: int) -> dict[str, Any]:
    """Return a device of ranks around one switch, one instance of it; nothing says speeds."""
    edge = {
        "ep1": {"component": "gpu"},
        "ep2": {"component": "nvswitch"},
        "scheme": "many2many",
        "link": "nvlink",
    }
    device = {
        "name": "box",
        "components": [
            {"name": "gpu", "count": count, "choice": "xpu", "xpu": {}},
            {"name": "nvswitch", "count": 1, "choice": "switch", "switch": {}},
        ],
        "links": [{"name": "nvlink"}],
        "edges": [edge],
    }
    instances = [{"name": "box", "device": "box", "count": 1}]
    return {"name": "one box", "devices": [device], "instances": instances}


@pytest.mark.parametrize("backend", ["analytical_congestion_unaware", "ns3"])
def test_infragraph_runs_with_the_speeds_of_annotations(backend: str, client: Client) -> None:
    pytest.importorskip("infragraph")
    links = [
        {
            "name": "nvlink",
            "attributes": [
                {"attribute": "link_bandwidth_gbps", "value": "800"},
                {"attribute": "link_latency_ms", "value": "0.0005"},
            ],
        }
    ]
    graph = {
        "infrastructure": _infrastructure(calls.RANKS),
        "annotations": encode("Annotation", {"links": links}),
    }
    network = {"topology": {"choice": "infragraph"}, "network": NS3["network"]}
    network |= {"logical_topology": NS3["logical_topology"]} if backend == "ns3" else {}
    if backend != "ns3":
        del network["network"]
    client.upload(calls.traces())
    answer = client.call("SetConfig", {"config": calls.config(backend, network, infragraph=graph)})
    assert "warnings" not in answer["server_response"]
    assert client.run(backend) == "completed", client.result("simulation.log")
    log = client.result("simulation.log")
    assert "nvlink" not in log
    if backend != "ns3":
        with_network = client.streamed("streamGetConfig")
        assert b"analytical_network.yml" in with_network


def test_speeds_that_nobody_says_are_warned_of_by_name(client: Client) -> None:
    pytest.importorskip("infragraph")
    graph = {"infrastructure": _infrastructure(calls.RANKS)}
    backend = "analytical_congestion_unaware"
    network = {"topology": {"choice": "infragraph"}}
    client.upload(calls.traces())
    answer = client.call("SetConfig", {"config": calls.config(backend, network, infragraph=graph)})
    (warning,) = answer["server_response"]["warnings"]
    assert "nvlink" in warning
    assert client.run(backend) == "completed"
    assert warning in client.result("simulation.log")


def test_a_list_of_dimensions_that_is_too_short_is_completed_and_warned_of(client: Client) -> None:
    backend = "analytical_congestion_unaware"
    rows = [
        {"topology": "ring", "npus_count": size, "bandwidth": 50.0, "latency": 500.0}
        for size in (2, 4)
    ]
    network = {"topology": {"choice": "network", "network": rows}}
    two = {name: ["ring", "ring"] for name in calls.SYSTEM if name.endswith("_implementation")}
    config = calls.config(backend, network)
    config["common_config"]["system"] = calls.SYSTEM | two
    logs = []
    for involved in ([True], [True, True]):
        client.upload(calls.traces(involved=involved))
        client.call("SetConfig", {"config": config})
        assert client.run(backend) == "completed"
        logs.append(client.result("simulation.log"))
    short, whole = (sorted(row for row in log.splitlines() if "finished" in row) for log in logs)
    assert [row.split("]", 1)[1] for row in short] == [row.split("]", 1)[1] for row in whole]
    assert "involved_dim has fewer entries" in logs[0]
    assert "involved_dim" not in logs[1]


def test_details_of_errors_are_json(client: Client, grpc: Any) -> None:
    with pytest.raises(grpc.RpcError) as error:
        client.call("SetConfig", {"config": {}})
    details = json.loads(error.value.details())
    assert details == {
        "code": 3,
        "kind": "validation",
        "errors": ["common_config: missing; expected workload, system and remote_memory"],
    }
