"""InfraGraph: files and blueprints become graphs, and graphs of ours come back as they were."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import identities
from yantra import scenario
from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main
from yantra.fabric.graphs import builders, graph_of
from yantra.fabric.graphs import read as built
from yantra.fabric.graphs.files import read
from yantra.fabric.graphs.graph import NO_BOX, DeviceKind, Graph
from yantra.fabric.infragraph import LinkSpeed, blueprints
from yantra.fabric.infragraph.blueprints import BLUEPRINTS
from yantra.fabric.infragraph.writing import document
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario import Dimension
from yantra.scenario.on_cluster import on_cluster

EVERY = (("*", LinkSpeed(bytes_per_ns=10.0, latency_ns=100.0)),)
POD = """infrastructure:
  name: pod
  devices:
  - name: server
    components:
    - {name: xpu, count: 2, choice: xpu, xpu: {}}
    - {name: nic, count: 1, choice: nic, nic: {}}
    links: [{name: pcie}]
    edges:
    - {scheme: many2many, link: pcie, ep1: {component: xpu}, ep2: {component: nic}}
  - name: switch
    components:
    - {name: asic, count: 1, choice: switch, switch: {}}
    links: []
    edges: []
  links:
  - name: cable
    physical: {bandwidth: {choice: gigabits_per_second, gigabits_per_second: 400}}
  instances:
  - {name: host, device: server, count: 2}
  - {name: leaf, device: switch, count: 1}
  edges:
  - scheme: many2many
    link: cable
    ep1: {instance: host, component: nic}
    ep2: {instance: leaf, component: asic}
annotations:
  nodes:
  - {name: host.0.xpu.0, attributes: [{attribute: rank, value: '3'}]}
  - {name: host.0.xpu.1, attributes: [{attribute: rank, value: '2'}]}
  - {name: host.1.xpu.0, attributes: [{attribute: rank, value: '1'}]}
  - {name: host.1.xpu.1, attributes: [{attribute: rank, value: '0'}]}
"""
PCIE = LinkSpeed(bytes_per_ns=64.0, latency_ns=300.0)
SAID = (("cable", LinkSpeed(latency_ns=500.0)), ("pcie", PCIE))


@pytest.fixture(autouse=True)
def _package(request: pytest.FixtureRequest) -> None:
    if "without_package" not in request.fixturenames:
        pytest.importorskip("infragraph", reason="the package infragraph is not installed")


def pod(folder: Path, text: str = POD) -> str:
    path = folder / "pod.infragraph.yaml"
    path.write_text(text)
    return str(path)


def test_a_description_becomes_ranks_cards_switches_and_boxes(tmp_path: Path) -> None:
    graph = read(pod(tmp_path), SAID)
    names = [graph.name_of(device) for device in range(graph.devices)]
    assert names[:4] == ["host.1.xpu.1", "host.1.xpu.0", "host.0.xpu.1", "host.0.xpu.0"]
    kinds = [tier.kind for tier in graph.tiers]
    assert kinds == [DeviceKind.RANK, DeviceKind.SWITCH, DeviceKind.NIC]
    assert [tier.size for tier in graph.tiers] == [4, 1, 2]
    assert len(set(graph.boxes[:2])) == len(set(graph.boxes[2:4])) == 1
    assert graph.boxes[0] != graph.boxes[2] and graph.boxes[names.index("leaf.0.asic.0")] == NO_BOX
    speeds = {
        (graph.labels[label], rate, latency)
        for label, rate, latency in zip(
            graph.links.label, graph.links.bytes_per_ns, graph.links.latency_ns, strict=True
        )
    }
    assert speeds == {("pcie", 64.0, 300.0), ("cable", 50.0, 500.0)}
    assert len(graph.links.start) == 12


def test_what_the_description_does_not_say_is_asked_for_by_the_name_of_the_link(
    tmp_path: Path,
) -> None:
    path = pod(tmp_path)
    with pytest.raises(ConfigError) as raised:
        read(path, (("pcie", PCIE),), "cluster.fabric")
    assert str(raised.value) == (
        f"cluster.fabric.links.cable.latency: missing; {path} does not say it; links.* is for all "
        "links"
    )
    with pytest.raises(ConfigError, match=r"links\.pcle: .* has no links of this name"):
        read(path, (("pcle", PCIE),))


def test_what_is_said_of_a_link_goes_before_the_file_and_the_rest_after_it(tmp_path: Path) -> None:
    faster = (("cable", LinkSpeed(bytes_per_ns=100.0)), *EVERY)
    for said, rate in ((faster, 100.0), (EVERY, 50.0)):
        graph = read(pod(tmp_path), said)
        cables = graph.links.label == graph.labels.index("cable")
        assert set(graph.links.bytes_per_ns[cables]) == {rate}


@pytest.mark.parametrize("name", sorted(BLUEPRINTS))
def test_every_blueprint_is_a_graph_whose_ranks_reach_each_other(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    graph = read(f"infragraph:{name}", EVERY)
    assert graph.ranks >= 4 and graph.unreached() is None
    assert (graph.boxes[: graph.ranks] != NO_BOX).all()
    assert capfd.readouterr() == ("", "")


def same(one: Graph, other: Graph) -> bool:
    def cables(graph: Graph) -> list[tuple[Any, ...]]:
        labels = [graph.labels[label] for label in graph.links.label]
        return sorted(zip(*(column.tolist() for column in graph.links[:4]), labels, strict=True))

    def boxes(graph: Graph) -> list[int]:
        numbers: dict[int, int] = {NO_BOX: NO_BOX}
        return [numbers.setdefault(int(box), len(numbers)) for box in graph.boxes]

    return (
        (one.ranks, one.devices) == (other.ranks, other.devices)
        and np.array_equal(one.kinds, other.kinds)
        and cables(one) == cables(other)
        and boxes(one) == boxes(other)
    )


@pytest.mark.parametrize("name", builders.names())
def test_ours_written_and_read_back_is_equal(name: str, tmp_path: Path) -> None:
    graph = graph_of(built(name, builders.get(name).example, "fabric"), "fabric")
    path = tmp_path / "ours.infragraph.json"
    path.write_text(json.dumps(document(graph, name)))
    assert same(read(path), graph)


def test_the_commands_write_and_show_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "ours.infragraph.yaml")
    assert main(["topology", "show", "dgx1", "--infragraph", path]) == 0
    capsys.readouterr()
    assert main(["topology", "show", path, "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["ranks"] == 8 and form["bisection_bytes_per_ns"]["value"] == 150.0
    words = ["--set", "links.*.bandwidth=64GB/s", "--set", "links.*.latency=100ns"]
    assert main(["topology", "show", "infragraph:mi300x", *words]) == 0
    assert "infinity_fabric     56    64 GB/s" in capsys.readouterr().out


def test_a_scenario_names_speeds_of_links_and_is_read_back_equal() -> None:
    text = """
workload: {traces: "job.{rank}.et"}
cluster:
  topology: [{kind: ring, size: 4, bandwidth: 50 GB/s, latency: 500 ns}]
  fabric: {kind: pod.infragraph.yaml, links: {pcie: {bandwidth: 64 GB/s, latency: 300 ns}}}
collectives: {all_reduce: [ring]}
"""
    asked = scenario.loads(text, "/jobs")
    assert asked.fabric is not None and asked.fabric.kind == "/jobs/pod.infragraph.yaml"
    assert asked.fabric.options == (("links", (("pcie", PCIE),)),)
    assert scenario.loads(scenario.to_yaml(asked, "/jobs"), "/jobs") == asked


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("count: 2}", "count: 2000000000}", "expands to 6000000001 components; expected at most"),
        ("{name: leaf, device: switch, count: 1}", "{name: leaf, device: switch, count: 1900000}",
         "expands to 3800004 edges; expected at most 3000000") ,
        ("link: pcie", "link: 4", "the package infragraph refuses it: "),
        ("choice: xpu, xpu: {}", "choice: cpu, cpu: {}", "has no components of choice xpu"),
        ("value: '0'", "value: '7'", "there is no rank 0 among 4 ranks"),
        ("value: '0'", "value: '1'", "rank 1 is given to two devices"),
        ("host.1.xpu.1", "host.1.xpu.9", "the package infragraph refuses it: host.1.xpu.9"),
        ("infrastructure:", "infra:", "the package infragraph refuses it: "),
        (POD, "- 1\n", "expected a mapping with devices, instances and edges, got [1]"),
        ("{name: nic, count: 1, choice: nic, nic: {}}", "{name: server, count: 1, choice: device}",
         "has devices in devices, more than 20 deep"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    assert old in POD
    with pytest.raises(ConfigError) as raised:
        read(pod(tmp_path, POD.replace(old, new, 1)), SAID)
    assert problem in str(raised.value), str(raised.value)


def test_what_infragraph_cannot_hold_is_refused(tmp_path: Path) -> None:
    head = "from,to,bandwidth,latency,label,one_way\n"
    for rows, problem in (
        ("0,1,1 GB/s,1 ns,a,yes\n1,0,2 GB/s,1 ns,b,yes\n", "links whose two ways differ"),
        ("0,1,1 GB/s,1 ns,a,no\n0,1,1 GB/s,1 ns,b,no\n", "several cables between the same two"),
        ("0,1,1 GB/s,1 ns,a/b,no\n", 'the label "a/b"; expected letters'),
    ):
        (tmp_path / "t.csv").write_text(head + rows)
        with pytest.raises(ConfigError) as raised:
            document(read(tmp_path / "t.csv"), "t")
        assert problem in str(raised.value)


def test_an_unknown_blueprint_is_told_those_that_are_known() -> None:
    with pytest.raises(ConfigError, match=r"no blueprint is named 'dgx-h10'; .*did you mean"):
        read("infragraph:dgx-h10")


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "infragraph.infragraph_service", None)


def test_without_the_package_the_error_says_how_to_get_it(
    without_package: None, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=r"needs the package infragraph, 3\.1 or newer: pip inst"):
        read(pod(tmp_path), SAID)


@pytest.mark.parametrize("name", sorted(BLUEPRINTS))
def test_every_blueprint_runs_an_all_reduce(name: str) -> None:
    graph = read(f"infragraph:{name}", EVERY)
    ranks = graph.ranks
    builder = TraceBuilder()
    builder.collective(CollectiveType.ALL_REDUCE, 1_000_000)
    trace = builder.build()
    switch = Dimension(kind="switch", size=ranks, bytes_per_ns=10.0, latency_ns=100.0)
    routing = Plugin(kind="ecmp", options=(("stay_in_box", 1.0),))
    result = simulate(
        scenario.Scenario(
            workload=scenario.Traces(traces=(trace,) * ranks),
            topology=scenario.Topology(dimensions=(switch,)),
            fabric=Plugin(kind=f"infragraph:{name}", options=(("links", EVERY),)),
            routing=routing,
            network="flow",
            collectives=scenario.Collectives(all_reduce=("ring",), endpoint_delay_ns=0),
            device=scenario.Device(memory_bytes_per_s=1e15),
        )
    )
    # A rank of a ring sends 2 (n - 1) parts one after the other.
    fastest = graph.links.bytes_per_ns.max()
    assert result.makespan_ns >= 2 * (ranks - 1) * (1_000_000 / ranks) / fastest


def _step_on(name: str, folder: Path, network: str) -> Result:
    ranks = read(f"infragraph:{name}", EVERY).ranks
    file = str(folder / "step.yw")
    plan = f"--model llama3-8b --num-layers 2 --seq 512 --tp 2 --dp {ranks // 2}".split()
    assert main(["workload", "train", *plan, "-o", file]) == 0
    speeds = {f"cluster.fabric.links.*.{key}": value for key, value in SPEEDS.items()}
    device = {f"cluster.device.{key}": value for key, value in DEVICE.items()}
    asked = on_cluster(
        file,
        f"infragraph:{name}",
        network=network,
        algorithms=dict.fromkeys(("all_reduce", "all_gather", "reduce_scatter"), ("ring",)),
        settings=speeds | device,
    )
    return simulate(asked.replace(fold="off"), record=True)


SPEEDS = {"bandwidth": "10 GB/s", "latency": "100 ns"}
DEVICE = {"compute": "roofline", "peak": "400 TFLOP/s", "memory_bandwidth": "2 TB/s"}


@pytest.mark.parametrize("name", sorted(BLUEPRINTS))
@pytest.mark.parametrize(
    "network", ["flow", pytest.param("store_and_forward", marks=pytest.mark.slow)]
)
def test_every_blueprint_runs_a_training_step(name: str, network: str, tmp_path: Path) -> None:
    result = _step_on(name, tmp_path, network)
    identities.hold(result)
    bytes_per_ns = max(link.bytes_per_ns for link in result.outcome.links)
    assert result.makespan_ns >= max(result.links["bytes"]) / bytes_per_ns
    busy = max(result.outcome.compute_busy) / result.model.ticks_per_ns
    assert result.makespan_ns > busy > 0
    graph = result.model.graph
    assert graph is not None
    sent = np.bincount(
        [link.source for link in result.outcome.links],
        [link.use.bytes for link in result.outcome.links],
        graph.devices,
    )[: graph.ranks]
    messages = result.recording.messages
    own = np.bincount(messages["source"], messages["bytes"].astype(float), graph.ranks)
    assert (sent >= own).all(), "a rank may pass on what others send, too"


@pytest.mark.parametrize("name", sorted(BLUEPRINTS))
def test_every_blueprint_written_by_us_and_read_back_is_equal(name: str, tmp_path: Path) -> None:
    graph = read(f"infragraph:{name}", EVERY)
    path = tmp_path / "ours.infragraph.json"
    path.write_text(json.dumps(document(graph, name)))
    assert same(read(path), graph)


def test_every_blueprint_of_the_package_that_has_ranks_is_known() -> None:
    """Of 3.1.0: the others are parts, which have no rank of their own."""
    import infragraph.blueprints

    found = set()
    for folder in infragraph.blueprints.__path__:
        for path in Path(folder).rglob("*.py"):
            text = path.read_text()
            found |= set(
                re.findall(r"^class (\w+)\((?:Device|Infrastructure)\)", text, re.MULTILINE)
            )
    parts = {"OSFP", "QSFP", "SFP", "Switch", "Cx5"}
    ours = Path(blueprints.__file__).read_text()
    assert len(found) >= 16
    assert {name for name in found - parts if f'"{name}"' not in ours} == set()


def test_a_training_step_runs_on_a_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = pod(tmp_path)
    plan = ["--model", "llama3-8b", "--tp", "2", "--dp", "2", "-o", "step.yw"]
    assert main(["workload", "train", *plan]) == 0
    words = ["run", "step.yw", "--cluster", path, "--network", "flow", "--all-reduce", "ring"]
    words += ["--all-gather", "ring", "--reduce-scatter", "ring"]
    speeds = ["pcie.bandwidth=64GB/s", "pcie.latency=300ns", "cable.latency=500ns"]
    device = ["compute=roofline", "peak=400TFLOP/s", "memory_bandwidth=2TB/s"]
    told = [f"cluster.fabric.links.{one}" for one in speeds]
    told += [f"cluster.device.{one}" for one in device]
    capsys.readouterr()
    assert main([*words, *(word for one in told for word in ("--set", one)), "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    dimensions = form["scenario"]["cluster"]["topology"]
    assert [one["size"] for one in dimensions] == [2, 2]
    assert main([*words, *(word for one in told[1:] for word in ("--set", one))]) == 2
    assert "cluster.fabric.links.pcie.bandwidth: missing; " in capsys.readouterr().err
