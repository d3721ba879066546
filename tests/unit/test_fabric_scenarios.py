"""The fields fabric, routing and placement of a scenario: read, written, checked, handed on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yantra import _core, network, scenario
from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.compile import compile
from yantra.compile.fabric import graph_of_scenario, native, set_fabric
from yantra.fabric.graphs import builders, graph_of, read
from yantra.fabric.graphs.placement import placed
from yantra.network import routings
from yantra.run.simulate import simulate
from yantra.scenario.types import Placement

TEXT = """
workload: {{traces: "job.{{rank}}.et"}}
cluster:
  topology: [{{kind: ring, size: 4, bandwidth: 50 GB/s, latency: 500 ns}}]
  {more}
collectives: {{all_reduce: [ring]}}
network: {network}
"""
FAT_TREE = "{kind: fat_tree, k: 4, bandwidth: 50 GB/s, latency: 500 ns}"
RAILS = (
    "{kind: rail_optimised, boxes: 2, ranks_per_box: 3, bandwidth: 50 GB/s, latency: 1 us, "
    "box_bandwidth: 450 GB/s, box_latency: 300 ns}"
)


def loaded(*more: str, folder: str = "", network: str = "analytical") -> scenario.Scenario:
    text = TEXT.format(more="\n  ".join(more), network=network)
    return scenario.loads(text, folder)


@pytest.mark.parametrize(
    "more",
    [
        [f"fabric: {FAT_TREE}"],
        [f"fabric: {FAT_TREE}", "routing: valiant", "placement: random"],
        [f"fabric: {FAT_TREE}", "placement: {kind: random, seed: 7}"],
        [f"fabric: {FAT_TREE}", "placement: [3, 9, 1, 4]"],
        [f"fabric: {RAILS}", "placement: by_rail"],
        [f"fabric: {RAILS}", "routing: {kind: ecmp, options: {stay_in_box: 1, seed: 4}}"],
        ["fabric: pods/pod.csv"],
        ["fabric: R(4)"],
        ["fabric: {kind: product, dimensions: R(4), bandwidth: [1 GB/s], latency: [1 ns]}"],
    ],
)
def test_what_is_read_is_written_and_read_back_equal(more: list[str]) -> None:
    read_once = loaded(*more, folder="/jobs")
    text = scenario.to_yaml(read_once, "/jobs")
    assert scenario.loads(text, "/jobs") == read_once
    assert scenario.loads(scenario.to_yaml(read_once)) == read_once


def test_options_are_held_by_the_names_of_the_record_and_paths_start_from_the_file() -> None:
    assert loaded(f"fabric: {FAT_TREE}").fabric.options == (  # type: ignore[union-attr]
        ("k", 4),
        ("bytes_per_ns", 50.0),
        ("latency_ns", 500.0),
    )
    assert loaded("fabric: pod.csv", folder="/jobs").fabric.kind == "/jobs/pod.csv"  # type: ignore[union-attr]


def test_a_setting_changes_one_option(tmp_path: Path) -> None:
    (tmp_path / "step.yaml").write_text(
        TEXT.format(more=f"fabric: {FAT_TREE}", network="analytical")
    )
    settings = {
        "cluster.fabric.k": 8,
        "cluster.fabric.bandwidth": "x2",
        "cluster.placement": {"kind": "random", "seed": 3},
        "cluster.routing": "valiant",
    }
    changed = scenario.load(tmp_path / "step.yaml", settings=settings)
    assert changed.fabric is not None
    assert dict(changed.fabric.options) == {"k": 8, "bytes_per_ns": 100.0, "latency_ns": 500.0}
    assert changed.placement == Placement(kind="random", seed=3)
    assert changed.routing == "valiant"


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["fabric: {kind: fat_tre}"], "cluster.fabric.kind: no fabric is named 'fat_tre'"),
        (["fabric: fat_tree"], "cluster.fabric.k: missing; expected a whole number"),
        ([f"fabric: {FAT_TREE.replace('k: 4', 'kk: 4')}"], "cluster.fabric.kk: unknown key; did"),
        ([f"fabric: {FAT_TREE.replace('k: 4', 'k: 5')}"], "cluster.fabric.k: expected an even"),
        (["fabric: [1]"], "cluster.fabric: expected a kind of fabric with its options, the path"),
        (["fabric: {k: 4}"], "cluster.fabric.kind: expected the name of a fabric, got null"),
        (["fabric: {kind: pod.csv}"], "cluster.fabric.kind: expected the name of a fabric; write"),
        (["routing: ecmp"], "cluster.routing: only with fabric, and there is none"),
        (["placement: random"], "cluster.placement: only with fabric, and there is none"),
        ([f"fabric: {FAT_TREE}", "routing: ecpm"], "cluster.routing: expected one of adaptive, "),
        (
            [f"fabric: {FAT_TREE}", "routing: {kind: ecmp, options: {stay: 1}}"],
            "cluster.routing.options.stay: unknown key; did you mean 'stay_in_box'?",
        ),
        ([f"fabric: {FAT_TREE}", "placement: near"], "cluster.placement: expected linear, by_rail"),
        ([f"fabric: {FAT_TREE}", "placement: {kind: linear, seed: 1}"], "cluster.placement.seed: "),
        ([f"fabric: {FAT_TREE}", "placement: [1, 2]"], "cluster.placement: expected a device"),
        ([f"fabric: {FAT_TREE}", "placement: [1, 2, 3, 1]"], "cluster.placement: device 1 is "),
        ([f"fabric: {FAT_TREE}", "placement: [1, 2, 3, -1]"], "cluster.placement[3]: must be at "),
    ],
)  # fmt: skip
def test_what_may_not_be_is_refused_at_its_field(more: list[str], problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        loaded(*more)
    assert str(raised.value).startswith(problem), str(raised.value)


def test_a_fabric_is_not_for_the_semantics_of_astra_sim() -> None:
    text = TEXT.format(more=f"fabric: {FAT_TREE}", network="analytical")
    with pytest.raises(ConfigError, match=r"cluster\.fabric: only with semantics yantra"):
        scenario.loads("semantics: astra-sim\n" + text)


def with_traces(*more: str, network: str = "analytical") -> scenario.Scenario:
    traces = tuple(TraceBuilder().build() for _ in range(4))
    given = loaded(*more, network=network)
    return given.replace(workload=scenario.Traces(traces=traces))


def test_a_routing_by_load_is_refused_where_no_load_is_shown() -> None:
    network = "store_and_forward"
    by_load = with_traces(f"fabric: {FAT_TREE}", "routing: adaptive", network=network)
    with pytest.raises(ConfigError, match=f"load of links, which {network} shows to no routing"):
        compile(by_load)


def test_a_network_that_does_not_run_over_a_fabric_is_refused() -> None:
    with pytest.raises(ConfigError, match="the network analytical does not run over a fabric"):
        compile(with_traces(f"fabric: {FAT_TREE}"))


class Told:
    def __init__(self) -> None:
        self.given: list[tuple[Any, ...]] = []

    def set_fabric(self, *given: Any) -> None:
        self.given.append(given)
        _core.Router(*given[:4])  # refuses what the core's builder refuses

    def by(self, asked: scenario.Scenario) -> tuple[Any, ...]:
        set_fabric(self, asked)  # type: ignore[arg-type]
        return self.given[-1]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    real = network.find

    def find(*of: Any) -> network.Level:
        level = real(*of)
        return level._replace(traits=level.traits | {"on_fabric"})

    monkeypatch.setattr(network, "find", find)
    return Told()


def test_the_core_is_told_graph_routing_seed_and_placement(told: Told) -> None:
    routing = "routing: {kind: valiant, options: {seed: 9}}"
    asked = with_traces(f"fabric: {FAT_TREE}", routing, "placement: [3, 9, 1, 4]")
    graph, name, _, seed, placement = told.by(asked)
    assert (graph.ranks, graph.devices, graph.links) == (16, 36, 96)
    assert (name, seed, placement.tolist()) == ("valiant", 9, [3, 9, 1, 4])


def test_ecmp_is_the_routing_where_none_is_named(told: Told) -> None:
    assert told.by(with_traces(f"fabric: {FAT_TREE}"))[1] == routings.DEFAULT == "ecmp"


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["fabric: {kind: ring, ranks: 3, bandwidth: 1 GB/s, latency: 1 ns}"], "places for 3 "),
        ([f"fabric: {FAT_TREE}", "placement: by_rail"], "by_rail needs a fabric whose ranks"),
        ([f"fabric: {FAT_TREE}", "placement: [1, 2, 3, 16]"], "expected devices from 0 to 15"),
        ([f"fabric: {FAT_TREE}", "routing: dimension_ordered"], "needs the coordinates of a grid"),
        (["fabric: R(2)_SW(2)"], "has 2 dimensions, cluster.topology 1, whose bandwidth"),
        (["fabric: none.csv"], "none.csv: cannot be read: No such file or directory"),
    ],
)  # fmt: skip
def test_what_only_the_graph_can_say_is_refused(more: list[str], problem: str, told: Told) -> None:
    with pytest.raises(ConfigError) as raised:
        told.by(with_traces(*more))
    assert problem in str(raised.value)


def test_a_notation_takes_the_rates_of_the_topology() -> None:
    graph = graph_of_scenario(with_traces("fabric: R(4)"))
    assert set(graph.links.bytes_per_ns) == {50.0} and set(graph.links.latency_ns) == {500.0}


def test_the_core_takes_the_graph_of_every_example() -> None:
    for name in builders.names():
        graph = graph_of(read(name, builders.get(name).example, "fabric"), "fabric")
        made = native(graph)
        assert (made.ranks, made.devices, made.links) == (
            graph.ranks,
            graph.devices,
            len(graph.links.start),
        )
        assert tuple(made.labels) == graph.labels
        ways = ["ecmp", *(["dimension_ordered"] if graph.coordinates is not None else [])]
        for routing in ways:
            router = _core.Router(made, routing, {"stay_in_box": 1.0} if routing == "ecmp" else {})
            for to in (1, graph.ranks // 2, graph.ranks - 1):
                ends = [0]
                for link in router.path(0, to):
                    assert graph.links.start[link] == ends[-1], (name, routing)
                    ends.append(int(graph.links.end[link]))
                assert ends[-1] == to, (name, routing)


def rails() -> Any:
    options = {"boxes": 2, "ranks_per_box": 3, "bandwidth": "1 GB/s", "latency": "0 ns"}
    more = {"box_bandwidth": "1 GB/s", "box_latency": "0 ns"}
    return graph_of(read("rail_optimised", options | more, "fabric"), "fabric")


def test_ranks_by_rail_go_through_the_boxes_at_one_place_before_the_next() -> None:
    assert placed(Placement(kind="by_rail"), 6, rails(), "").tolist() == [0, 3, 1, 4, 2, 5]
    assert placed(Placement(kind="linear"), 4, rails(), "").tolist() == [0, 1, 2, 3]


def test_a_shuffle_follows_from_its_seed_and_uses_each_device_once() -> None:
    one, again, other = (
        placed(Placement(kind="random", seed=seed), 6, rails(), "") for seed in (1, 1, 2)
    )
    assert np.array_equal(one, again) and not np.array_equal(one, other)
    assert sorted(one.tolist()) == list(range(6))


@pytest.mark.parametrize("kind", ["flow", "store_and_forward"])
@pytest.mark.parametrize("name", builders.names())
def test_every_fabric_runs_an_all_reduce(name: str, kind: str) -> None:
    section = builders.get(name).options
    given = section.read(dict(builders.get(name).example), "fabric", "")
    names = [own for own, _, _ in section.entries.values() if own in vars(given)]
    builder = TraceBuilder()
    builder.collective(CollectiveType.ALL_REDUCE, 1_000_000)
    ring = scenario.Dimension(kind="ring", size=4, bytes_per_ns=1.0, latency_ns=1.0)
    result = simulate(
        scenario.Scenario(
            workload=scenario.Traces(traces=(builder.build(),) * 4),
            topology=scenario.Topology(dimensions=(ring,)),
            fabric=Plugin(kind=name, options=tuple((own, getattr(given, own)) for own in names)),
            network=kind,
            routing=Plugin(kind="ecmp", options=(("stay_in_box", 1.0),)),
            placement=Placement(kind="random", seed=3),
            collectives=scenario.Collectives(all_reduce=("ring",), endpoint_delay_ns=0),
            device=scenario.Device(memory_bytes_per_s=1e15),
        )
    )
    assert f", {kind} network over {name}, Yantra" in result.what_ran.text
    fastest = graph_of(read(name, builders.get(name).example, "f"), "f").links.bytes_per_ns.max()
    assert result.makespan_ns >= 6 * 250_000 / fastest


def test_a_named_cluster_takes_a_fabric_and_is_then_called_changed() -> None:
    text = """
workload: {{traces: "job.{{rank}}.et"}}
cluster: {{name: hgx-h100, ranks: 16, fabric: {fabric}, placement: random}}
"""
    asked = scenario.loads(text.format(fabric=FAT_TREE))
    assert asked.fabric is not None and asked.fabric.kind == "fat_tree"
    assert asked.placement.kind == "random"
    assert asked.machine.name is not None and asked.machine.name.endswith("(changed)")
    with pytest.raises(ConfigError, match=r"cluster\.fabric\.k: expected an even number of ports"):
        scenario.loads(text.format(fabric=FAT_TREE.replace("k: 4", "k: 3")))
