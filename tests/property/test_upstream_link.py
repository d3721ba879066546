"""Laws of linking as upstream does: it equals its rules read literally, on any pair of traces."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import profiled_run, upstream_linker
from yantra.base.errors import TraceError, YantraError
from yantra.tracing.pytorch.upstream.critical_path import sync_dependencies
from yantra.tracing.pytorch.upstream.device import read_events
from yantra.tracing.pytorch.upstream.link import link_files

SEEDS = st.integers(0, 1 << 32)


def written(folder: Path, host: Any, device: Any) -> tuple[str, str]:
    paths = folder / "host.json", folder / "device.json"
    for path, content in zip(paths, (host, device), strict=True):
        path.write_text(json.dumps(content))
    return str(paths[0]), str(paths[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("link")


@given(seed=SEEDS, fractions=st.booleans(), syncs=st.booleans(), thread=st.sampled_from((101, 0)))
@settings(max_examples=150, deadline=None)
def test_it_equals_the_rules_read_literally(
    folder: Path, seed: int, fractions: bool, syncs: bool, thread: int
) -> None:
    host, device = profiled_run.pair(Random(seed), fractions, syncs)
    for event in device["traceEvents"]:
        if event.get("tid") == 101:
            event["tid"] = thread
    paths = written(folder, host, device)
    found = sync_dependencies(read_events(paths[1]))
    try:
        expected = upstream_linker.link(host, device, found)
    except upstream_linker.Refused:
        with pytest.raises(TraceError, match="compat upstream"):
            link_files(*paths)
        return
    assert link_files(*paths).decode() == expected


@given(seed=SEEDS, fractions=st.booleans(), later=st.integers(1, 10**6))
@settings(max_examples=60, deadline=None)
def test_what_waits_for_what_does_not_depend_on_the_clock_or_on_other_events(
    folder: Path, seed: int, fractions: bool, later: int
) -> None:
    host, device = profiled_run.pair(Random(seed), fractions)
    found = sync_dependencies(read_events(written(folder, host, device)[1]))
    for event in device["traceEvents"]:
        event["ts"] += later
    device["traceEvents"] += [
        {
            "ph": "i",
            "cat": "cpu_instant_event",
            "name": "[memory]",
            "ts": later,
            "pid": 1,
            "tid": 1,
        },
        {
            "ph": "X",
            "cat": "Trace",
            "name": "all",
            "ts": later,
            "dur": 9,
            "pid": "Spans",
            "tid": "",
        },
    ]
    if fractions:  # the times may round to other fractions of a microsecond
        for event in device["traceEvents"]:
            event["ts"] = round(event["ts"], 3)
    assert sync_dependencies(read_events(written(folder, host, device)[1])) == found


@given(seed=SEEDS, flips=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255))))
@settings(max_examples=150, deadline=None)
def test_damaged_files_end_in_a_result_or_in_an_error_of_ours(
    folder: Path, seed: int, flips: list[tuple[int, int]]
) -> None:
    random = Random(seed)
    paths = written(folder, *profiled_run.pair(random))
    damaged = Path(random.choice(paths))
    content = bytearray(damaged.read_bytes())
    for place, value in flips:
        content[place % len(content)] = value
    if random.random() < 0.2:
        content = content[: random.randrange(len(content))]
    damaged.write_bytes(content)
    try:
        link_files(*paths)
    except YantraError as error:
        assert str(error)
