"""Graphs from files: what is read, in which order ranks come, and the errors of a bad file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.fabric.graphs import graph_of, read
from yantra.fabric.graphs.files import read as read_file
from yantra.fabric.graphs.graph import Graph

CSV = """# two hosts, one way faster than the other
from, to, bandwidth, latency, label, one_way
0, leaf, 50 GB/s, 500 ns, up, yes
leaf, 0, 100 GB/s, 500 ns, down, yes

1, leaf, 400 Gb/s, 1 us, , no
"""
YAML = """ranks: [a, b]
boxes: {node: [a]}
links:
- {from: a, to: leaf, bandwidth: 50 GB/s, latency: 500 ns, label: up, one_way: true}
- {from: leaf, to: a, bandwidth: 100 GB/s, latency: 500 ns, label: down, one_way: true}
- {from: b, to: leaf, bandwidth: 400 Gb/s, latency: 1 us}
"""
GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="rank" attr.type="int"/>
  <key id="d1" for="edge" attr.name="bandwidth" attr.type="string"/>
  <key id="d2" for="edge" attr.name="latency_ns" attr.type="double"><default>500</default></key>
  <key id="d3" for="edge" attr.name="label" attr.type="string"/>
  <key id="d4" for="node" attr.name="color" attr.type="string"/>
  <key id="d5" for="node" attr.name="box" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="leaf"><data key="d4">red</data></node>
    <node id="b"><data key="d0">1</data></node>
    <node id="a"><data key="d0">0</data><data key="d5">node</data></node>
    <edge source="a" target="leaf" directed="true">
      <data key="d1">50 GB/s</data><data key="d3">up</data></edge>
    <edge source="leaf" target="a" directed="true">
      <data key="d1">100 GB/s</data><data key="d3">down</data></edge>
    <edge source="b" target="leaf"><data key="d1">50 GB/s</data><data key="d2">1000</data></edge>
  </graph>
</graphml>
"""
NS3 = "3 1 2\n1\n0 1 400Gbps 500ns 0\n2 1 400Gbps 0.001ms 0.000000\n\nhow it was made: by hand\n"


def graph(folder: Path, name: str, text: str) -> Graph:
    (folder / name).write_text(text)
    return read_file(folder / name)


@pytest.mark.parametrize(
    ("name", "text"), [("t.csv", CSV), ("t.yaml", YAML), ("t.graphml", GRAPHML)]
)
def test_all_forms_of_one_graph_are_the_same_graph(tmp_path: Path, name: str, text: str) -> None:
    made = graph(tmp_path, name, text)
    assert (made.ranks, made.devices) == (2, 3)
    links = [
        (int(a), int(b), float(rate), float(latency), made.labels[label])
        for a, b, rate, latency, label in zip(*made.links, strict=True)
    ]
    assert links == [
        (0, 2, 50.0, 500.0, "up"),
        (2, 0, 100.0, 500.0, "down"),
        (1, 2, 50.0, 1000.0, "rank to switch"),
        (2, 1, 50.0, 1000.0, "switch to rank"),
    ]
    assert made.name_of(2) == "leaf"
    assert made.boxes.tolist() == ([-1] * 3 if name == "t.csv" else [0, -1, -1])


def test_hosts_of_an_ns3_file_are_ranks_in_the_order_of_their_ids(tmp_path: Path) -> None:
    made = graph(tmp_path, "t.txt", NS3)
    assert [made.name_of(device) for device in range(3)] == ["node 0", "node 2", "node 1"]
    assert made.links.latency_ns.tolist() == [500.0, 500.0, 1000.0, 1000.0]
    assert set(made.links.bytes_per_ns) == {50.0}


def test_a_fat_tree_written_as_an_ns3_file_is_the_fat_tree(tmp_path: Path) -> None:
    options = {"k": 4, "bandwidth": "12.5 GB/s", "latency": "1 us"}
    built = graph_of(read("fat_tree", options, "fabric"), "fabric")
    low = built.links.start < built.links.end
    pairs = zip(built.links.start[low].tolist(), built.links.end[low].tolist(), strict=True)
    lines = [f"{a} {b} 100Gbps 1000ns 0.000000" for a, b in pairs]
    switches = " ".join(map(str, range(built.ranks, built.devices)))
    text = f"{built.devices} 20 {len(lines)}\n{switches}\n" + "\n".join(lines)
    made = graph(tmp_path, "fat.txt", text)
    assert made.ranks == 16
    assert sorted(made.ports()) == sorted(built.ports())
    assert np.array_equal(np.sort(made.links.latency_ns), np.sort(built.links.latency_ns))


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("t.csv", "latency, label", "latenzy, label", "line 2: unknown column \"latenzy\"; did"),
        ("t.csv", "from, to", "from, from", "line 2: the column from is there twice"),
        ("t.csv", "50 GB/s", "50 GB", "line 3, bandwidth: 'GB' is a unit of size"),
        ("t.csv", "up, yes", "up, perhaps", 'line 3, one_way: expected yes or no, got "perhaps"'),
        ("t.csv", "500 ns, up, yes", "500 ns, up", "line 3: expected 6 values, as the header has"),
        ("t.csv", "1, leaf", "2, leaf", "t.csv: there is no rank 1 among 2 ranks; expected 0 to 1"),
        ("t.csv", "1, leaf", "leaf, leaf", "line 6: leads from a device to itself"),
        ("t.csv", "1, leaf", "1, other", "no links lead from 0 to 1, or none back"),
        ("t.csv", CSV, "\n", "t.csv: is empty; expected a line from,to,bandwidth,latency"),
        ("t.csv", CSV, "from,to,bandwidth\n", "line 1: has no column latency; expected from, to"),
        ("t.csv", CSV, "from,to,bandwidth,latency\na,b,1 B/s,0 ns", "names no ranks; expected dev"),
        ("t.yaml", "latency: 1 us", "latenci: 1 us", "links[2].latenci: unknown key; did you mean"),
        ("t.yaml", "[a, b]", "[a, a]", "ranks[1]: the device is rank 0 and rank 1"),
        ("t.yaml", "[a, b]", "[a, [b]]", 'ranks[1]: expected the name of a device, got ["b"]'),
        ("t.yaml", "[a]}", "[c]}", 'boxes.node[0]: no link joins a device "c"'),
        ("t.yaml", "ranks:", "rank:", "rank: unknown key; expected one of ranks, boxes, links"),
        ("t.yaml", YAML, "links: 4\n", "links: expected a list of links, got 4"),
        ("t.graphml", 'key="d1">50', 'key="d1">5o', "line 13, bandwidth: unknown unit 'o GB/s'"),
        ("t.graphml", ">1000<", ">-1<", "line 17, latency_ns: must be at least 0 ns; got -1 ns"),
        ("t.graphml", '"bandwidth"', '"bandwith"', "line 13, bandwidth: the edge has none; expect"),
        ("t.graphml", '<data key="d0">1<', '<data key="d0">0<', "rank 0 is given to two devices"),
        ("t.graphml", '<data key="d0">1<', '<data key="d0">x<', "line 11, rank: expected a whole"),
        ("t.graphml", "</graphml>", "", "line 20: not XML: no element found"),
        ("t.graphml", "<graphml", "<!DOCTYPE x [<!ENTITY a 'b'>]><graphml", "has a document type"),
        ("t.graphml", GRAPHML, "<a/>", "line 1: no GraphML: it has no <graph>"),
        ("t.txt", "3 1 2", "3 1", 'line 1: expected a first line of three numbers: nodes, switch'),
        ("t.txt", "3 1 2", "3 1 4", "line 6, from: expected a whole number from 0 to 2, got"),
        ("t.txt", "400Gbps 500", "400Gpbs 500", "line 3, rate: unknown unit 'Gpbs'; did you mean"),
        ("t.txt", "ns 0\n", "ns 0.1\n", "line 3, error rate: expected 0, as no network here loses"),
        ("t.txt", "3 1 2", "4 1 2", "t.txt: host 3 has no link; expected one for each host"),
        ("t.txt", "\n1\n", "\n7\n", "line 2, switch: expected a whole number from 0 to 2, got"),
        ("t.txt", NS3, "1 0 1", "line 1, from: expected a value, but the file ends"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said_with_its_place(
    tmp_path: Path, name: str, old: str, new: str, problem: str
) -> None:
    whole = {"t.csv": CSV, "t.yaml": YAML, "t.graphml": GRAPHML, "t.txt": NS3}[name]
    assert old in whole
    with pytest.raises(ConfigError) as raised:
        graph(tmp_path, name, whole.replace(old, new, 1))
    said = str(raised.value)
    assert said.startswith(f"{tmp_path / name}") and problem in said, said


def test_what_a_graphml_file_declares_as_its_encoding_changes_nothing(tmp_path: Path) -> None:
    made = graph(tmp_path, "t.graphml", GRAPHML.replace('encoding="UTF-8"', 'encoding="UTF-B"'))
    assert made.ranks == 2


def test_an_unknown_ending_names_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"expected a file that ends in one of \.csv, \.yaml"):
        read_file(tmp_path / "t.dot")


def test_a_kind_with_its_options_is_the_graph_that_a_scenario_has(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text("{kind: fat_tree, k: 4, bandwidth: 50 GB/s, latency: 500 ns}\n")
    options = {"k": 4, "bandwidth": "50 GB/s", "latency": "500 ns"}
    found, wanted = read_file(path), graph_of(read("fat_tree", options, "fabric"), "fabric")
    for column in ("start", "end", "bytes_per_ns", "latency_ns", "label"):
        assert np.array_equal(getattr(found.links, column), getattr(wanted.links, column)), column
    assert found.ranks == wanted.ranks == 16


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{kind: fat_trea}", "no fabric is named 'fat_trea'"),
        ("{kind: 4}", "expected the name of a fabric, got 4"),
        ("{kind: fat_tree, kk: 4}", "kk: unknown key"),
        ("{kind: fat_tree, k: 3, bandwidth: 1 GB/s, latency: 1 ns}", "k: expected an even"),
    ],
)
def test_a_kind_that_cannot_be_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"pod\.yaml") as caught:
        read_file(path)
    assert problem in str(caught.value)
