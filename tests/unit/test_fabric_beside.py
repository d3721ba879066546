"""What any fabric takes beside its options: weights of links, and buffers of switches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yantra import _core, scenario
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.compile.fabric import graph_of_scenario, native
from yantra.fabric.graphs.describe import shown
from yantra.fabric.graphs.files import read
from yantra.fabric.graphs.graph import Graph
from yantra.fabric.infragraph.writing import document

MIB = 2**20
LEAF_SPINE = (
    "{kind: leaf_spine, leaves: 2, ranks_per_leaf: 4, spines: 2, bandwidth: 10 GB/s,"
    " latency: 1 us%s}"
)
BOTH = ", weights: {leaf up: 4}, buffers: {leaf: 16 MiB, spine: 8 MiB, spine 1: 64 MiB}"
TEXT = """
workload: {{traces: "job.{{rank}}.et"}}
network: flow
cluster:
  topology: [{{kind: switch, size: 8, bandwidth: 10 GB/s, latency: 1 us}}]
  fabric: {}
collectives: {{all_reduce: [ring]}}
"""


def _loaded(fabric: str) -> scenario.Scenario:
    return scenario.loads(TEXT.format(fabric), "/jobs")


def _buffers(graph: Graph) -> dict[str, int]:
    assert graph.buffers is not None
    return {graph.name_of(at): int(graph.buffers[at]) for at in np.flatnonzero(graph.buffers)}


def _weights(graph: Graph) -> dict[str, float]:
    assert graph.weights is not None
    return {
        graph.labels[label]: float(weight)
        for label, weight in zip(graph.links.label, graph.weights, strict=True)
    }


def test_a_name_of_a_tier_is_all_of_it_and_that_of_one_switch_goes_first() -> None:
    graph = graph_of_scenario(_loaded(LEAF_SPINE % BOTH))
    assert _buffers(graph) == {
        "leaf 0": 16 * MIB,
        "leaf 1": 16 * MIB,
        "spine 0": 8 * MIB,
        "spine 1": 64 * MIB,
    }
    assert _weights(graph) == {"rank up": 1, "rank down": 1, "leaf up": 4, "leaf down": 1}


@pytest.mark.parametrize(
    "fabric",
    [
        LEAF_SPINE % BOTH,
        "{kind: pods/pod.csv, buffers: {leaf: 16 MiB}}",
        "{kind: R(8), weights: {dimension 0: 2.5}}",
        "{kind: 'infragraph:mi300x', links: {'*': {bandwidth: 1 GB/s, latency: 1 ns}},"
        " weights: {pcie: 3.0}}",
    ],
)
def test_what_is_read_is_written_and_read_back_equal(fabric: str) -> None:
    once = _loaded(fabric)
    for folder in ("/jobs", ""):
        assert scenario.loads(scenario.to_yaml(once, folder), folder) == once


def test_a_setting_changes_one_name_and_leaves_the_others(tmp_path: Path) -> None:
    def changed(more: str, **settings: Any) -> Graph:
        path = tmp_path / "job.yaml"
        path.write_text(TEXT.format(LEAF_SPINE % more))
        of = {f"cluster.fabric.{key}": value for key, value in settings.items()}
        return graph_of_scenario(scenario.load(path, settings=of))

    graph = changed(BOTH, **{"buffers.leaf": "1 MiB"})
    assert (_buffers(graph)["leaf 1"], _buffers(graph)["spine 1"]) == (MIB, 64 * MIB)
    assert _weights(changed("", weights={"leaf up": 2}))["leaf up"] == 2
    with pytest.raises(ConfigError, match=r"cluster\.fabric\.buffers\.spine 1: no switches"):
        changed(BOTH, spines=1)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (", weights: {leaf upp: 4}", r"weights\.leaf upp: no links of .*; did you mean 'leaf up'"),
        (", weights: {leaf up: 0}", r"weights\.leaf up: must be above 0"),
        (", weights: 4", r"weights: expected labels of links with a weight"),
        (", buffers: {rank: 1 MiB}", r"buffers\.rank: no switches of the fabric are called so"),
        (", buffers: {leaf: 1 GB/s}", r"buffers\.leaf: 'GB/s' is a unit of bandwidth, not of size"),
        (", buffers: {leaf: 0 B}", r"buffers\.leaf: must be at least 1 B"),
        (", buffer: {leaf: 1 MiB}", r"fabric\.buffer: unknown key"),
    ],
)
def test_what_may_not_be_is_refused_at_its_field(more: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        graph_of_scenario(_loaded(LEAF_SPINE % more))


CSV = """from,to,bandwidth,latency,buffer
0,leaf,10 GB/s,1 us,
leaf,1,10 GB/s,1 us,3 MiB
leaf,2,10 GB/s,1 us,
"""
YAML = """buffers: {leaf: 3 MiB}
links:
- {from: 0, to: leaf, bandwidth: 10 GB/s, latency: 1 us}
- {from: 1, to: leaf, bandwidth: 10 GB/s, latency: 1 us}
"""
GRAPHML = """<graphml><key id="b" for="node" attr.name="buffer"/><graph edgedefault="undirected">
<node id="0"/><node id="1"/><node id="leaf"><data key="b">3 MiB</data></node>
<edge source="0" target="leaf">RATE</edge><edge source="1" target="leaf">RATE</edge>
</graph></graphml>""".replace(
    "RATE", '<data key="bandwidth">10 GB/s</data><data key="latency">1 us</data>'
)
BUILT = LEAF_SPINE % ", buffers: {leaf 1: 3 MiB}"


@pytest.mark.parametrize(
    ("name", "text", "switch"),
    [
        ("t.csv", CSV, "leaf"),
        ("t.yaml", YAML, "leaf"),
        ("t.graphml", GRAPHML, "leaf"),
        ("built.yaml", BUILT, "leaf 1"),
    ],
)
def test_files_say_the_buffer_of_a_switch(
    name: str, text: str, switch: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    assert _buffers(read(tmp_path / name)) == {switch: 3 * MIB}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BUILT.replace("leaf 1", "leef"), "t.yaml: buffers.leef: no switches of the fabric are"),
        ("{kind: ring, ranks: 4, bandwidth: 1 GB/s, latency: 1 us, buffers: {up: 1 B}}",
         "t.yaml: buffers.up: the fabric has no switches"),
        (YAML.replace("3 MiB", "[3]"), "t.yaml: buffers.leaf: not a quantity"),
    ],
)  # fmt: skip
def test_what_a_file_says_beside_is_refused_with_the_file(
    text: str, problem: str, tmp_path: Path
) -> None:
    (tmp_path / "t.yaml").write_text(text)
    with pytest.raises(ConfigError) as raised:
        read(tmp_path / "t.yaml")
    assert problem in str(raised.value)


def test_rates_that_cannot_be_added_leave_the_bisection_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = CSV.replace("0,leaf,10 GB/s", "0,leaf,1e300 GB/s")
    (tmp_path / "t.csv").write_text(text)
    assert main(["topology", "show", str(tmp_path / "t.csv")]) == 0
    assert "not computed: the rates of the links need" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (CSV.replace("2,10 GB/s,1 us,", "2,10 GB/s,1 us,4 MiB"),
         "line 4, buffer: the device was given a buffer of 3145728 B before, and now of 4194304 B"),
        (CSV.replace("leaf,10 GB/s,1 us,\n", "leaf,10 GB/s,1 us,1 MiB\n"),
         'line 2, buffer: "0" is no switch; only switches have a buffer'),
        (CSV.replace("3 MiB", "many"), "line 3, buffer: "),
    ],
)  # fmt: skip
def test_a_buffer_in_a_file_is_one_and_of_a_switch(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ConfigError) as raised:
        read(tmp_path / "t.csv")
    assert problem in str(raised.value)


def test_a_weight_sends_traffic_between_rails_over_the_ranks_of_the_box() -> None:
    for settings, over in (({}, {"rank", "spine"}), ({"weights.leaf up": 2}, {"rank"})):
        graph = shown("rail_optimised", settings).graph
        per_box = int((graph.boxes[: graph.ranks] == 0).sum())
        router = _core.Router(native(graph), "ecmp", {})
        seen = set()
        for number in range(64):
            path = router.path(0, per_box + 1, number)
            assert len(path) == 4
            seen.add(graph.name_of(int(graph.links.end[path[1]])).split()[0])
        assert seen == over


def test_a_buffer_of_all_switches_is_what_the_option_of_the_network_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seven hosts send 1 MB to one: with 1 MiB a switch they are paused, with 64 MiB never."""
    flows = tmp_path / "flows.csv"
    flows.write_text("src,dst,bytes\n" + "".join(f"{at},0,1000000\n" for at in range(1, 8)))
    (tmp_path / "t.yaml").write_text(LEAF_SPINE % "")
    seen = {}
    for name, more in (
        ("said", ["--set", "buffers={leaf: 1 MiB, spine: 1 MiB}"]),
        ("option", ["--packet", "buffer=1MiB"]),
        ("large", ["--set", "buffers={leaf: 64 MiB, spine: 64 MiB}"]),
    ):
        words = ["network", "flows", str(flows), "--topology", "leaf_spine", "--network", "packet"]
        options = ["leaves=2", "ranks_per_leaf=4", "spines=2", "bandwidth=10GB/s", "latency=1us"]
        words += [word for option in options for word in ("--set", option)]
        assert main([*words, *more]) == 0
        seen[name] = capsys.readouterr().out
    assert seen["said"] == seen["option"]
    assert "pauses" in seen["said"] and "pauses" not in seen["large"]


def test_buffers_are_shown_and_infragraph_holds_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["topology", "show", "leaf_spine", "--set", "buffers.spine 1=3MiB"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["devices", "kind", "count", "ports", "buffer"] in rows
    assert ["leaf", "switch", "4", "6", "-"] in rows
    assert ["spine", "switch", "2", "4", "3", "MiB"] in rows
    with pytest.raises(ConfigError, match="cannot hold buffers of switches"):
        document(shown("leaf_spine", {"buffers.leaf": "3 MiB"}).graph, "t")
