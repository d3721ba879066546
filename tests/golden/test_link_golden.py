"""Real traces linked and replayed: makespans equal the measured timeline, within 2 % on ASTRA-sim's
three slots.
"""

from __future__ import annotations

import functools
import json
import os
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.archives import unpack
from tests.oracles import replay_graph
from yantra.tracing.pytorch import linked_file
from yantra.tracing.pytorch.graph import Graph, build
from yantra.tracing.pytorch.link import link_files
from yantra.tracing.pytorch.linked import Linked
from yantra.tracing.pytorch.linked_columns import as_objects

ROOT = Path(os.environ.get("YANTRA_GOLDEN", Path(__file__).parents[3] / "shared" / "golden"))
pytestmark = pytest.mark.skipif(
    not (ROOT / "chakra").is_dir(), reason="the golden sets are not here"
)
GPU = ["resnet_pair", "alexnet_ps", "event_sync", "event_sync_ms_ps"]
GPU += [f"dlrm8_renamed-{rank}" for rank in range(8)]
CPU = ["cpu_small-single-0", "cpu_small-ddp2-0", "cpu_small-ddp2-1"]


class Case(NamedTuple):
    linked: Linked
    graph: Graph
    events: list[dict[str, Any]]


@functools.cache
def archive(name: str, folder: Path) -> Path:
    with tarfile.open(ROOT / "chakra" / f"{name}.tar.xz") as files:
        unpack(files, folder)
    return folder / name


@functools.cache
def load(case: str, folder: Path) -> Case:
    name, *rest = case.split("-")
    place = archive(name, folder)
    suffix = f".{rest[1]}" if len(rest) == 2 else f"_{rest[0]}" if rest else ""
    if len(rest) == 2:
        place = place / "input" / rest[0]
    device = place / f"device{suffix}.json"
    linked = link_files(str(place / f"host{suffix}.json"), str(device))
    return Case(linked, build(linked), json.loads(device.read_text())["traceEvents"])


@pytest.fixture
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return load(request.param, tmp_path_factory.getbasetemp() / "link_golden")


every = pytest.mark.parametrize("case", GPU + CPU, indirect=True)
gpu = pytest.mark.parametrize("case", GPU, indirect=True)


@every
def test_everything_is_matched_and_nothing_contradicts_the_clock(case: Case) -> None:
    report = case.linked.report
    assert report.clock_problems == 0
    # Two processes of one run recorded the pair, which linking reports and accepts.
    assert all("process" in problem for problem in report.problems)
    assert report.waits_unexplained == report.stream_waits_unexplained == 0
    assert report.unclaimed == report.missing_parents == 0
    assert report.unmatched <= 2  # process_group:init has no event


@gpu
def test_parents_are_the_innermost_operators(case: Case) -> None:
    calls = {e["args"]["correlation"]: e for e in case.events if e.get("cat") == "cuda_runtime"}
    names = {op.id: op for op in case.linked.operators}
    spans = [op for op in case.linked.operators if op.start_ns is not None]
    for op in case.linked.device_ops[:: max(1, len(case.linked.device_ops) // 200)]:
        if op.correlation not in calls:
            assert op.parent is None
            continue
        at, tid = op.launch_start_ns or 0, op.launch_tid
        around = [
            s
            for s in spans
            if s.tid == tid and (s.start_ns or 0) <= at < (s.start_ns or 0) + s.dur_ns
        ]
        if not around:
            assert op.parent is None
            continue
        innermost = max(around, key=lambda s: (s.start_ns or 0, -s.dur_ns, s.id))
        parent = names[op.parent] if op.parent is not None else None
        assert parent is not None
        if parent.id != innermost.id:  # whole microseconds: two that begin or end at the call
            assert at in (innermost.start_ns, (parent.start_ns or 0) + parent.dur_ns)


@gpu
def test_every_kernel_waits_for_its_predecessor_and_every_sync_event_is_an_edge(
    case: Case,
) -> None:
    streams: dict[tuple[int, int], list[int]] = {}
    by_id = {op.id: op for op in case.linked.device_ops}
    order = sorted(by_id.values(), key=lambda op: (op.start_ns, op.end_ns, op.correlation))
    for op in order:
        before = streams.setdefault((op.device, op.stream), [])
        if before:
            node = case.graph.nodes[case.graph.device_node[op.id]]
            assert case.graph.device_node[before[-1]] in node.deps
        before.append(op.id)
    launched = {op.correlation for op in order}
    waits = {(wait.name, len(wait.after) > 0) for wait in case.linked.waits}
    syncs = {e["name"] for e in case.events if e.get("cat") == "cuda_sync"}
    assert not syncs or ("cudaDeviceSynchronize", True) in waits
    assert launched


@every
def test_a_replay_gives_the_measured_timeline_to_the_microsecond(case: Case) -> None:
    start = replay_graph.unlimited(case.graph.nodes)
    assert case.graph.shifted == 0
    for node in case.graph.nodes:
        assert start[node.id] == node.start_us
        if node.kind != "delay":
            assert node.start_us == node.start_ns // 1000


@gpu
def test_three_slots_replay_within_two_percent(case: Case) -> None:
    nodes = case.graph.nodes
    measured = replay_graph.makespan(nodes, replay_graph.unlimited(nodes))
    slots = replay_graph.makespan(nodes, replay_graph.single_slots(nodes))
    assert measured <= slots <= 1.02 * measured


@every
def test_the_linked_file_comes_back_equal(case: Case) -> None:
    found = linked_file.parse(linked_file.to_json(case.linked), "linked.json")
    assert found == as_objects(case.linked)


@pytest.mark.parametrize("case", ["event_sync_ms_ps"], indirect=True)
def test_the_wait_between_streams_of_the_multi_stream_trace(case: Case) -> None:
    by_id = {op.id: op for op in case.linked.device_ops}
    across = [
        (by_id[other].stream, by_id[other].correlation, op.stream)
        for op in by_id.values()
        for other in op.after
        if by_id[other].stream != op.stream
    ]
    assert across == [(20, 27, 24)]


@pytest.mark.parametrize("case", ["resnet_pair"], indirect=True)
def test_collectives_of_the_resnet_wait_for_the_gradients_of_their_bucket(case: Case) -> None:
    report = case.linked.report
    assert (report.by_correlation, report.orphans) == (3774, 0)
    assert (report.stream_waits, report.stream_waits_explained) == (42, 42)
    assert sum(flow.kind == "fwdbwd" for flow in case.linked.flows) == 543
    by_id = {op.id: op for op in case.linked.device_ops}
    for op in by_id.values():
        if op.name.startswith("nccl"):
            assert {by_id[other].stream for other in op.after} >= {7}
