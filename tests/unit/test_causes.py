"""Every cause of unexplained time that `trace why` names: a recording that has it, and one like it
that has not.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.small_traces import call, event, kernel, op
from tests.recorded_jobs import Plan, write
from yantra.cli import main
from yantra.explain.recordings.why import why

Events = list[dict[str, Any]]
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def _input(is_there: bool) -> Events:
    """The host does nothing for 400 us, then loads a batch, or computes."""
    made: Events = []
    for at, start in enumerate((1000, 1500)):
        made += [
            op(3 * at + 1, LOADER if is_there else "aten::add", start, 20),
            op(3 * at + 2, "aten::mm", start + 20, 20),
            call("cudaLaunchKernel", start + 25, 5, at + 1),
            kernel(start + 35, 30, at + 1),
        ]
    return made


def _spin(is_there: bool) -> Events:
    """The host goes on 3 us after each kernel, or 60 us after it."""
    made: Events = []
    start = 1000
    for at in range(6):
        made += [
            op(at + 1, "aten::mm", start, 10),
            call("cudaLaunchKernel", start + 2, 4, at + 1),
            kernel(start + 8, 90, at + 1),
        ]
        start += 98 + (3 if is_there else 60)
    return made


def _graph(is_there: bool) -> Events:
    """Three kernels 60 us apart, of one launch or of three."""
    made: Events = [op(1, "step", 1000, 30)]
    for at in range(3):
        number = 1 if is_there else at + 1
        if at == 0 or not is_there:
            name = "cudaGraphLaunch" if is_there else "cudaLaunchKernel"
            made.append(call(name, 1002 + 8 * at, 4, number))
        made.append(kernel(1020 + 100 * at, 40, number))
    return made


def _thread(is_there: bool) -> Events:
    """The second of three kernels is launched by a thread that was recorded, or not."""
    made: Events = []
    for at in range(3):
        start = 1000 + 10 * at
        if at != 1 or not is_there:
            made += [
                op(at + 1, "aten::mm", start, 9),
                call("cudaLaunchKernel", start + 1, 4, at + 1),
            ]
        made.append(kernel(1012 + 100 * at, 40, at + 1))
    return made


def _lost(is_there: bool) -> Events:
    """Between two kernels lies the time of a third, whose record is missing, or that never was."""
    made: Events = []
    for at in range(3):
        start = 1000 + 10 * at
        if at != 1 or is_there:
            made += [
                op(at + 1, "aten::mm", start, 9),
                call("cudaLaunchKernel", start + 1, 4, at + 1),
            ]
        if at != 1:
            made.append(kernel(1012 + 100 * at, 40, at + 1))
    return made


CAUSES = {
    "input pipeline": (_input, 435.0),  # of 460, under a kernel for 25
    "the host spins for the device": (_spin, 15.0),  # of 455, the rest under kernels
    "graph launch": (_graph, 120.0),
    "an unrecorded thread": (_thread, 60.0),
    "lost records": (_lost, 160.0),
}


def _causes(folder: Path, events: Events) -> list[dict[str, Any]]:
    (folder / "rank0.json").write_text(json.dumps({"traceEvents": events}))
    return why([str(folder / "rank0.json")])[0].causes


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_is_named_where_it_is_and_nowhere_else(name: str, tmp_path: Path) -> None:
    made, us = CAUSES[name]
    (found,) = _causes(tmp_path, made(True))
    assert found["name"] == name and found["evidence"]
    assert found["ns"] == pytest.approx(us * 1000, rel=0.01)
    assert _causes(tmp_path, made(False)) == []


def test_causes_of_two_kinds_share_the_time_of_the_device(tmp_path: Path) -> None:
    late = [one | {"ts": one["ts"] + 5000} for one in _thread(True)]
    for one in late:
        one["args"] = {key: value + 10 for key, value in one["args"].items() if key != "stream"}
        one["args"] |= {"stream": 7, "device": 0}
    found = {one["name"]: one["ns"] for one in _causes(tmp_path, [*_graph(True), *late])}
    assert found == {"graph launch": 120_000, "an unrecorded thread": 60_000}


def test_a_profile_without_a_host_has_no_unrecorded_thread(tmp_path: Path) -> None:
    kernels = [kernel(1000 + 100 * at, 40, 0) for at in range(4)]
    kernels.append(event("gpu_memset", "Memset", 1450, 1, tid=7, device=0, stream=7))
    assert _causes(tmp_path, kernels) == []


def test_missing_ranks_may_be_the_late_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(Plan(ranks=4, late=("host", 2, 1, 900.0)), tmp_path)
    names = [str(tmp_path / f"rank{rank}.json") for rank in (0, 1, 3)]
    assert main(["trace", "why", *names]) == 0
    said = capsys.readouterr().out
    assert "rank 2 without a recording may be later than all here" in said
    assert main(["trace", "why", *names[:2], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["missing"] == [2, 3]
    (tmp_path / "rank2.json").rename(tmp_path / "rank9.json")
    assert main(["trace", "why", *names[:2]]) == 0
    assert "the 2 ranks without a recording (2, 3) may be" in capsys.readouterr().out
