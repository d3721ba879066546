"""Collected traces are linked, converted, and run to the end by the simulator."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.cases import ASTRA_SIM_SYSTEM
from tests.torch.conftest import PARALLEL, RANKS
from tests.torch.test_collect import SENDERS, events, messages
from yantra import chakra
from yantra.chakra.schema import NodeType
from yantra.cli import main

SYSTEM = ASTRA_SIM_SYSTEM | {"boost-mode": 0}
NETWORK = f"topology: [ Switch ]\nnpus_count: [ {RANKS} ]\nbandwidth: [ 1 ]\nlatency: [ 20000 ]\n"


@pytest.fixture(scope="module", params=PARALLEL)
def job(
    request: pytest.FixtureRequest, collected: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    traces = collected / request.param
    folder = tmp_path_factory.mktemp(request.param)
    ends = [f"--{kind}={traces}/{kind}.{{rank}}.json" for kind in ("host", "device")]
    linked = folder / "linked.{rank}.json"
    assert main(["chakra", "link", "-q", *ends, "-o", str(linked)]) == 0
    ranks = [str(folder / f"linked.{rank}.json") for rank in range(RANKS)]
    assert main(["chakra", "convert", "pytorch", *ranks, "-o", str(folder / "job")]) == 0
    return traces, folder / "job"


def test_every_communication_becomes_a_node(job: tuple[Path, Path]) -> None:
    traces, prefix = job
    for rank in range(RANKS):
        said = messages(traces, rank)
        nodes = list(chakra.read(f"{prefix}.{rank}.et"))
        expected = Counter(
            NodeType.COMM_COLL
            if facts["op"] not in SENDERS
            else NodeType[f"COMM_{facts['op'].upper()}"]
            for facts in said
        )
        found = [node for node in nodes if node.type in (5, 6, 7)]
        assert Counter(NodeType(node.type) for node in found) == expected
        assert sorted(node["comm_size"] for node in found) == sorted(f["bytes"] for f in said)


def test_the_device_traces_alone_communicate_the_same(
    job: tuple[Path, Path], tmp_path: Path
) -> None:
    traces, prefix = job
    devices = [str(traces / f"device.{rank}.json") for rank in range(RANKS)]
    assert main(["chakra", "convert", "pytorch", *devices, "-o", str(tmp_path / "job")]) == 0
    keys = ("comm_size", "comm_type", "comm_src", "comm_dst", "comm_tag", "pg_name")
    for rank in range(RANKS):
        pair, alone = (
            [
                (node.type, *(node.get(key) for key in keys))
                for node in chakra.read(f"{job}.{rank}.et")
                if node.type in (5, 6, 7)
            ]
            for job in (prefix, tmp_path / "job")
        )
        assert Counter(pair) == Counter(alone)


def test_the_job_runs_to_the_end_in_the_measured_order_of_magnitude(
    job: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    traces, prefix = job
    monkeypatch.chdir(tmp_path)  # ASTRA-sim's log folder goes there
    (tmp_path / "system.json").write_text(json.dumps(SYSTEM))
    (tmp_path / "network.yml").write_text(NETWORK)
    (tmp_path / "memory.json").write_text('{"memory-type": "NO_MEMORY_EXPANSION"}')
    assert main([
        "astra-sim",
        f"--workload-configuration={prefix}",
        f"--system-configuration={tmp_path}/system.json",
        f"--network-configuration={tmp_path}/network.yml",
        f"--remote-memory-configuration={tmp_path}/memory.json",
        f"--comm-group-configuration={prefix}.groups.json",
    ]) == 0  # fmt: skip
    lines = [line for line in capsys.readouterr().out.splitlines() if " finished, " in line]
    ticks = [int(line.split(" finished, ")[1].split()[0]) for line in lines]
    assert len(ticks) == RANKS
    assert measured_ns(traces) / 5 < max(ticks) < 5 * measured_ns(traces)


def measured_ns(traces: Path) -> float:
    steps = [
        event["dur"]
        for rank in range(RANKS)
        for event in events(traces, rank)
        if event["name"].startswith("ProfilerStep#")
    ]
    return 1000.0 * max(steps)
