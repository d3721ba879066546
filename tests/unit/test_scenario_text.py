"""Scenario files: what each key becomes, where paths start, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from yantra import scenario as scenarios
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.scenario import (
    ChakraFiles,
    Collectives,
    Custom,
    Device,
    Dimension,
    RemoteMemory,
    Resources,
    Scenario,
    SharedBus,
    Topology,
    Traces,
)

MINIMAL = """
workload: {traces: "step.{rank}.et"}
cluster:
  topology: [{kind: ring, size: 8, bandwidth: 50 GB/s, latency: 500 ns}]
"""

FULL = """
semantics: astra-sim
workload:
  traces: traces/step.{rank}.et
  groups: {2: [4, 5], 1: [3, 1]}
cluster:
  topology:
  - {kind: ring, size: 4, bandwidth: 400 Gb/s, latency: 0.5 us}
  - {kind: switch, size: 2, bandwidth: 25 GB/s, latency: 700.5 ns}
  device: {peak: 234 TFLOP/s, memory_bandwidth: 2039 GB/s, compute: roofline}
  memory: {kind: per_node, latency: 1 us, bandwidth: 100 GB/s, ranks_per_node: 4, nodes: 2}
network: analytical
collectives:
  all_reduce: [ring, direct4]
  reduce_scatter: [ring]
  all_gather: {custom: "alg/gather.{position}.et"}
  custom_per_node: {7: "alg/seven.{position}.et"}
  all_reduce_shape: baseline
  chunks: 4
  active_chunks: 2
  queues_per_dimension: 2
  priority: explicit
  inter_dimension: themis
  intra_dimension: rg
  endpoint_delay: 20 ns
  local_reduction_delay: 2 ns
  shared_bus: {l: 50 ns, o: 20 ns, g: 10 ns, big_g: 0.01 ns/B}
  rendezvous: true
resources: {cpu_slots: 2, compute_streams: 3, communication: one_slot, copy_engines: 0}
quirks: [b, a]
replay_only: true
track_local_memory: true
local_memory_trace: memory/trace
trace_nodes: true
"""


def test_every_key_becomes_its_field() -> None:
    assert scenarios.loads(FULL) == Scenario(
        workload=ChakraFiles(prefix="traces/step", groups=((1, (3, 1)), (2, (4, 5)))),
        topology=Topology(
            dimensions=(
                Dimension(kind="ring", size=4, bytes_per_ns=50.0, latency_ns=500.0),
                Dimension(kind="switch", size=2, bytes_per_ns=25.0, latency_ns=700.5),
            )
        ),
        device=Device(peak_flops=234e12, memory_bytes_per_s=2039e9, compute="roofline"),
        memory=RemoteMemory(
            kind="per_node", latency_ns=1000, bytes_per_ns=100.0, ranks_per_node=4, nodes=2
        ),
        collectives=Collectives(
            all_reduce=("ring", "direct4"),
            reduce_scatter=("ring",),
            all_gather=Custom(prefix="alg/gather"),
            custom_per_node=((7, "alg/seven"),),
            all_reduce_shape="baseline",
            chunks=4,
            active_chunks=2,
            queues_per_dimension=2,
            priority="explicit",
            inter_dimension="themis",
            intra_dimension="rg",
            endpoint_delay_ns=20,
            local_reduction_delay_ns=2,
            shared_bus=SharedBus(l_ns=50, o_ns=20, g_ns=10, big_g_ns_per_byte=0.01),
            rendezvous=True,
        ),
        resources=Resources(
            cpu_slots=2, compute_streams=3, communication="one_slot", copy_engines=0
        ),
        semantics="astra-sim",
        quirks=frozenset({"a", "b"}),
        replay_only=True,
        track_local_memory=True,
        local_memory_trace="memory/trace",
        trace_nodes=True,
    )


def test_what_a_file_leaves_out_takes_the_default() -> None:
    assert scenarios.loads(MINIMAL) == Scenario(
        workload=ChakraFiles(prefix="step"),
        topology=Topology(
            dimensions=(Dimension(kind="ring", size=8, bytes_per_ns=50.0, latency_ns=500.0),)
        ),
    )


def test_relative_paths_start_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "groups.json").write_text('{"1": [0, 2]}')
    (tmp_path / "groups.yaml").write_text("1: [0, 2]")
    for groups in ("groups.json", "groups.yaml"):
        file = tmp_path / "scenario.yaml"
        file.write_text(MINIMAL.replace('et"}', f'et", groups: {groups}}}'))
        assert scenarios.load(file).workload == ChakraFiles(
            prefix=str(tmp_path / "step"), groups=((1, (0, 2)),)
        )


def test_a_written_file_keeps_pointing_at_the_same_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkdir("results")
    scenario = scenarios.loads(FULL)
    scenarios.dump(scenario, "results/scenario.yaml")
    assert "../traces/step.{rank}.et" in Path("results/scenario.yaml").read_text()
    assert scenarios.load("results/scenario.yaml") == scenario
    assert os.listdir("results") == ["scenario.yaml"]


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    scenario = scenarios.loads(MINIMAL)
    (tmp_path / "folder").mkdir()
    for target in (tmp_path / "none" / "scenario.yaml", tmp_path / "folder"):
        with pytest.raises(ConfigError, match="cannot be written: "):
            scenarios.dump(scenario, target)
    assert os.listdir(tmp_path) == ["folder"]


def test_traces_in_memory_have_no_file_form() -> None:
    scenario = scenarios.loads(MINIMAL).replace(workload=Traces(traces=tuple(range(8))))
    with pytest.raises(UnsupportedError, match="workload: traces in memory have no file"):
        scenarios.to_yaml(scenario)


def test_a_text_that_looks_like_a_number_is_written_as_text() -> None:
    scenario = scenarios.loads(MINIMAL).replace(local_memory_trace="1e5")
    assert scenarios.loads(scenarios.to_yaml(scenario)) == scenario
