"""One step of a recording of several: what belongs to it, and when it begins and ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.small_traces import call, event, kernel, op
from tests.unit.test_recordings_lose_nothing import linked
from yantra.base.errors import TraceError
from yantra.cli import main
from yantra.tracing.pytorch.convert import ConvertOptions, ConvertReport, convert_job
from yantra.tracing.pytorch.steps import only, steps

Events = list[dict[str, Any]]
LONG = {2: 500, 3: 600, 4: 700}  # us of the kernel of each step


def recording(*, late: int = 0) -> Events:
    """Return three steps of 900 us, 1 ms apart; `late` us pass between a launch and its kernel."""
    events: Events = []
    for at, (step, us) in enumerate(LONG.items()):
        begin = 90 + 1000 * at
        events += [event("user_annotation", f"ProfilerStep#{step}", begin, 900)]
        events += [op(step, "aten::mm", begin + 10, 20)]
        events += [call("cudaLaunchKernel", begin + 15, 4, 50 + step)]
        events += [kernel(begin + 30 + late, us, 50 + step, name=f"gemm_of_{step}")]
        events += [call("cudaDeviceSynchronize", begin + 40, us - 5 + late, 70 + step)]
    return events


def converted(events: Events, step: int | None = None) -> ConvertReport:
    options = ConvertOptions(step=step)
    return convert_job([lambda: linked(events)], lambda *_: None, options).report


def test_a_recording_of_several_steps_is_told() -> None:
    (said,) = [text for text in converted(recording()).remarks if "steps" in text]
    assert "holds 3 steps (#2 to #4)" in said and "--step 4" in said
    assert not any("steps" in text for text in converted(recording()[:5]).remarks)


@pytest.mark.parametrize("step", LONG)
def test_a_step_is_as_long_as_its_range_and_has_its_kernel(step: int) -> None:
    report = converted(recording(), step)
    assert report.recorded[0].length_us == 900
    cut = only(linked(recording()), step)
    assert [(op.name, op.start_ns) for op in cut.device_ops] == [(f"gemm_of_{step}", 30_000)]
    assert [wait.after for wait in cut.waits] == [[cut.device_ops[0].id]]
    assert not report.remarks or not any("steps" in text for text in report.remarks)


def test_the_steps_together_have_all_that_was_recorded() -> None:
    whole = linked(recording())
    parts = [only(whole, step) for step in LONG]
    assert sum(len(part.device_ops) for part in parts) == len(whole.device_ops)
    roots = len([operator for operator in whole.operators if operator.start_ns is None])
    timed = [len(part.operators) - roots for part in parts]
    assert sum(timed) + roots == len(whole.operators)
    assert {op.id for part in parts for op in part.device_ops} == {op.id for op in whole.device_ops}


def test_a_kernel_belongs_to_the_step_that_launched_it() -> None:
    late = linked(recording(late=880))  # each kernel begins after its step's range has ended
    assert [op.name for op in only(late, 3).device_ops] == ["gemm_of_3"]


@pytest.mark.parametrize("late", [0, 900, 1100, 3000])
def test_a_step_whose_device_is_behind_says_by_how_much(late: int) -> None:
    """A kernel begins 11 us after its launch has ended, and `late` us more."""
    said = [text for text in converted(recording(late=late), 3).problems if "earlier" in text]
    assert bool(said) == (late >= 1000)
    assert all(f"waited {1e-3 * (late + 11):.3f} ms" in text for text in said)
    assert not any("earlier" in text for text in converted(recording(late=late)).problems)


def test_the_balance_says_what_is_of_other_steps() -> None:
    report = converted(recording(), 3)
    balance = report.balance[0]
    assert balance.device_ops.left_out == {"of other steps": 2}
    assert balance.became.total == 1 and not balance.unaccounted


def test_a_range_around_all_steps_is_no_part_of_one() -> None:
    around = event("user_annotation", "training", 10, 5000)
    cut = only(linked([around, *recording()]), 3)
    names = {operator.name for operator in cut.operators}
    assert "ProfilerStep#3" in names and "training" not in names
    assert {operator.id for operator in cut.operators} >= {
        operator.parent for operator in cut.operators if operator.parent is not None
    }


def test_a_step_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(TraceError, match="has no step 7; it has the steps 2, 3, 4"):
        only(linked(recording()), 7)
    with pytest.raises(TraceError, match="it marks no steps"):
        only(linked(recording()[1:2]), 1)
    assert [step.number for step in steps(linked(recording()))] == [2, 3, 4]


def test_the_command_takes_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trace.json").write_text(json.dumps(recording()))
    assert main(["chakra", "link", "--device", "trace.json", "-o", "linked.json"]) == 0
    for source, prefix in (("trace.json", "a"), ("linked.json", "b")):
        command = ["chakra", "convert", "pytorch", source, "--step", "3", "-o", prefix]
        assert main(command) == 0
    assert Path("a.0.et").read_bytes() == Path("b.0.et").read_bytes()
    command = ["chakra", "convert", "pytorch", "trace.json", "--compat", "upstream", "--step", "3"]
    assert main([*command, "-o", "c"]) == 2
