"""Tools read a job one rank at a time, on any number of cores, and tell what all ranks tell."""

from __future__ import annotations

import gc
import os
import signal
import weakref
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import planted
from yantra.base.errors import TraceError
from yantra.base.notes import notes_to
from yantra.chakra import CollectiveType, Node, NodeType, Trace, TraceBuilder
from yantra.explain.recordings.why import of_summaries, why
from yantra.tracing.inspect import one_by_one
from yantra.tracing.inspect.rank_traces import load_job
from yantra.tracing.inspect.stats import as_dict, job_stats, stats_of_files
from yantra.tracing.inspect.surveyed import Surveyed
from yantra.tracing.inspect.validate import check_job, check_traces
from yantra.tracing.pytorch.on_cores import be_child_of, begin
from yantra.tracing.why.late import median_without

RANKS = 7
GROUPS = {"1": (0, 1, 2, 3), "2": (4, 5, 6)}
CORES = (1, 2, 16)


def of_rank(rank: int, crossed: bool) -> Trace:
    """Calls of a group, messages to the next rank, and two calls in no sure order; ranks 0 to 2
    are alike. `crossed`: rank 3 enters its calls the other way round.
    """
    trace = TraceBuilder()
    group = next(name for name, members in GROUPS.items() if rank in members)
    work = trace.compute("mlp", num_ops=10**9, duration_micros=1 + (rank if rank > 2 else 1))
    last = trace.collective(CollectiveType.ALL_REDUCE, 1 << 20, group=group, after=work)
    sizes = (64, 128) if not crossed or rank != 3 else (128, 64)
    for size in sizes:
        last = trace.collective(CollectiveType.ALL_GATHER, size, group=group, after=last)
    for _ in range(2):
        trace.collective(CollectiveType.ALL_REDUCE, 1 << 10, after=last)
    if rank in (4, 5):
        peer = 9 - rank
        ends = trace.send(peer, 1 << 10, after=last), trace.recv(peer, 1 << 10, after=last)
        trace.compute("tail", duration_micros=1, after=ends)
    odd: Node | tuple[()] = ()
    for id in range(1000, 1025):  # more than a report lists
        odd = trace.add(Node(id, "odd", NodeType.INVALID), after=odd)
    return trace.build()


def files_of(folder: Path, crossed: bool = False) -> str:
    for rank in range(RANKS):
        of_rank(rank, crossed).write(folder / f"job.{rank}.et")
    return str(folder / "job.{rank}.et")


@pytest.fixture(params=CORES)
def cores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(one_by_one, "cores", lambda: request.param)
    monkeypatch.setattr(one_by_one, "pays", lambda sizes: request.param > 1)
    return int(request.param)


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_statistics_are_those_of_the_whole_job(tmp_path: Path, cores: int, groups: Any) -> None:
    pattern = files_of(tmp_path)
    found, problems = stats_of_files([pattern], groups)
    whole = job_stats(load_job([pattern]), groups)
    assert as_dict(found) == as_dict(whole) and not problems
    assert len(found.operators) and found.ranks[1][2] is found.ranks[2][2]


@pytest.mark.parametrize("crossed", [False, True])
def test_findings_are_those_of_the_whole_job(tmp_path: Path, cores: int, crossed: bool) -> None:
    pattern = files_of(tmp_path, crossed)
    told: list[tuple[int, int]] = []
    found = check_job([pattern], groups=GROUPS, progress=lambda *at: told.append(at))
    whole = check_traces([one.trace for one in load_job([pattern])], groups=GROUPS)
    assert found.as_dict() == whole.as_dict() and found.text() == whole.text()
    assert ("collective-size-mismatch" in found.codes) == crossed
    assert told == [(done, RANKS) for done in range(1, RANKS + 1)]


@pytest.mark.parametrize("kind", ["kernels", "pair"])
def test_lateness_is_that_of_the_whole_job(tmp_path: Path, cores: int, kind: str) -> None:
    plan = planted.planted(kind, 1)
    for rank, _, trace in planted.trace_of(plan):
        trace.write(tmp_path / f"job.{rank}.et")
    found, warnings = why([str(tmp_path / "job.{rank}.et")])
    assert found.as_dict() == of_summaries(planted.read(plan)).as_dict() and not warnings


@given(st.lists(st.integers(0, 9), min_size=2), st.data())
def test_a_median_without_one_is_that_of_the_others(values: list[int], data: st.DataObject) -> None:
    one = data.draw(st.sampled_from(values))
    others = sorted(values)
    others.remove(one)
    assert median_without(sorted(values), one) == median(others)


def test_one_trace_is_held_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = files_of(tmp_path)
    alive: weakref.WeakSet[Trace | Surveyed] = weakref.WeakSet()
    most: list[int] = []
    make: Callable[..., Trace] = Trace.from_native.__func__  # type: ignore[attr-defined]
    begin = Surveyed.__init__

    def counted(cls: type[Trace], native: Any) -> Trace:
        trace = make(cls, native)
        alive.add(trace)
        most.append(len(alive))
        return trace

    def surveyed(self: Surveyed, native: Any) -> None:
        begin(self, native)
        alive.add(self)
        most.append(len(alive))

    monkeypatch.setattr(Surveyed, "__init__", surveyed)
    monkeypatch.setattr(Trace, "from_native", classmethod(counted))
    gc.disable()  # nothing waits for it
    try:
        stats_of_files([pattern])
        check_job([pattern], groups=GROUPS)
        assert most == [1] * 2 * (RANKS - 2)  # equal files are read once
        for rank, _, trace in planted.trace_of(planted.planted("kernels", 1)):
            trace.write(tmp_path / f"recorded.{rank}.et")
        del trace
        most.clear()
        why([str(tmp_path / "recorded.{rank}.et")])
    finally:
        gc.enable()
    assert most and set(most) == {1}


def test_an_error_is_the_one_of_a_single_process(tmp_path: Path, cores: int) -> None:
    pattern = files_of(tmp_path)
    (tmp_path / "job.5.et").write_bytes(b"\x00" * 100)
    with pytest.raises(TraceError, match=r"job\.5\.et"):
        stats_of_files([pattern])
    assert "malformed" in check_job([pattern], groups=GROUPS).codes


def test_notes_come_in_order_and_once(tmp_path: Path, cores: int) -> None:
    pattern = files_of(tmp_path)
    for rank in (3, 0, 6):
        trace = of_rank(rank, crossed=False)
        newer = Trace(trace, trace.metadata._replace(version="9.9.9"))
        newer.write(tmp_path / f"job.{rank}.et")
    told: list[str] = []
    with notes_to(told.append):
        stats_of_files([pattern])
    assert [text.split(".et")[0][-1] for text in told] == ["0", "3", "6"]


def test_a_process_that_is_ended_as_it_begins_does_nothing_of_its_parents() -> None:
    """The parent's own handler must not run in a child, whose stack is the parent's."""

    def raise_it(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, raise_it)
    try:
        for _ in range(20):
            process = get_context("fork").Process(target=be_child_of, args=(os.getpid(),))
            begin(process)
            process.terminate()
            process.join()
            assert process.exitcode in (0, -signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
