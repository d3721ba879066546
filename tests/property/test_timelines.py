"""A timeline says what the tables of its result say: slices, names, sizes, times."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.cases import collectives
from tests.clusters import dimension
from tests.jobs import GROUPS, Job, jobs, traces
from tests.oracles.timelines import Timeline, read
from yantra.base.errors import DeadlockError
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario import RemoteMemory, Scenario, Topology, Traces

TRACKS = {
    "compute": "compute",
    "host": "host",
    "memory": "memory",
    "send": "communication: sends",
    "receive": "communication: receives",
    "other": "other",
}


def _write(result: Result, path: Path, **options: Any) -> tuple[Timeline, list[str]]:
    export = result.to_chrome if ".json" in path.name else result.to_perfetto
    notes = export(path, **options)
    return read(path), notes


def _nodes(result: Result) -> dict[tuple[int, int], tuple[str, int, int]]:
    columns = ("rank", "id", "name", "start_ns", "end_ns")
    rows = zip(*(result.nodes.values(column) for column in columns), strict=True)
    return {
        (rank, id): (name, int(start), int(end))
        for rank, id, name, start, end in rows
        if end is not None
    }


def _check_slices(timeline: Timeline, result: Result, ranks: set[int]) -> None:
    nodes = {key: node for key, node in _nodes(result).items() if key[0] in ranks}
    found = {
        (slice.process, slice.args["id"]): (slice.name, slice.start, slice.end)
        for slice in timeline.slices
        if slice.category != "critical path" and slice.process in ranks
    }
    assert found == nodes
    assert len(found) == sum(slice.process in ranks for slice in timeline.slices)


def _check_rows(timeline: Timeline) -> None:
    until: Counter[int] = Counter()
    for slice in sorted(timeline.slices, key=lambda slice: (slice.start, slice.end)):
        assert until[slice.track] <= slice.start
        until[slice.track] = slice.end or 0
        if slice.category in TRACKS and timeline.processes[slice.process] != "cluster":
            assert timeline.tracks[slice.track] == TRACKS[slice.category]


def _check_collectives(timeline: Timeline, result: Result) -> None:
    columns = ("rank", "node", "kind", "group", "size_bytes", "algorithm_bandwidth_gb_per_s")
    rows = zip(*(result.collectives.values(column) for column in columns), strict=True)
    slices = {
        (slice.process, slice.args["id"]): slice
        for slice in timeline.slices
        if slice.category == "collective"
    }
    for rank, node, kind, group, size, rate in rows:
        slice = slices[rank, node]
        named = group or "all ranks"
        assert (slice.args["collective"], slice.args["size_bytes"]) == (kind, size)
        assert slice.args["group"] == named
        assert slice.args.get("algorithm_bandwidth_gb_per_s") == pytest.approx(rate)
        track = "communication: " + (f"group {group}" if group else "all ranks")
        assert timeline.tracks[slice.track] == track


def _check_recording(timeline: Timeline, result: Result, notes: list[str]) -> None:
    messages = result.recording.messages
    arrows = timeline.arrows()
    drawn = 0
    for number, row in enumerate(messages.rows(), start=1):
        told = dict(zip(messages.columns, row, strict=True))
        if number not in arrows:
            continue
        drawn += 1
        leaves, arrives = arrows[number]
        assert leaves.leaves and not arrives.leaves and leaves.time < arrives.time
        for end, rank, node, exact in (
            (leaves, "source", "node", "sent_ns"),
            (arrives, "destination", "peer_node", "arrived_ns"),
        ):
            assert end.slice is not None and end.slice.end is not None
            place = (end.slice.process, end.slice.args["id"])
            assert place == (told[rank], told[node])
            assert end.slice.start <= end.time <= end.slice.end
            assert end.time == min(max(int(told[exact]), end.slice.start), end.slice.end)
            assert end.args.items() >= {"bytes": told["bytes"], "tag": told["tag"]}.items()
    left_out = sum(int(note.split()[0]) for note in notes)
    assert drawn + left_out == len(messages)
    path = [slice for slice in timeline.slices if slice.process == len(timeline.processes) - 1]
    makespan = int(result.makespan_ns)
    assert sum((slice.end or 0) - slice.start for slice in path) == makespan
    until = 0
    for slice in path:
        assert slice.start == until
        until = slice.end or 0
    nodes = dict(
        zip(
            zip(result.nodes.values("rank"), result.nodes.values("id"), strict=True),
            result.nodes.values("slack_ns"),
            strict=True,
        )
    )
    for slice in timeline.slices:
        if slice.process < 4:
            assert slice.args["slack_ns"] == nodes[slice.process, slice.args["id"]]


@settings(max_examples=30)
@given(job=jobs(), semantics=st.sampled_from(["yantra", "astra-sim"]), record=st.booleans())
def test_the_timeline_of_any_job_is_its_tables(
    job: Job, semantics: Any, record: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    groups = tuple(sorted((int(name), ranks) for name, ranks in GROUPS.items()))
    question = Scenario(
        workload=Traces(traces=traces(job), groups=groups),
        topology=Topology(dimensions=(dimension(),)),
        collectives=collectives(),
        memory=RemoteMemory(kind="per_npu", latency_ns=20, bytes_per_ns=7.0),
        semantics=semantics,
        fold="off",  # a timeline of a folded run shows one rank of a class
    )
    try:
        result = simulate(question, record=record)
    except DeadlockError:
        assume(False)
    for name in ("t.pftrace", "t.json"):
        timeline, notes = _write(result, tmp_path_factory.mktemp("t") / name)
        _check_slices(timeline, result, set(range(4)))
        _check_rows(timeline)
        _check_collectives(timeline, result)
        if record:
            _check_recording(timeline, result, notes)
