"""What a recording is and can answer; its accounts add up and are those of the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.pipeline_steps import Pipeline
from tests.recorded_jobs import Plan, job, write
from yantra.base.errors import UnsupportedError
from yantra.chakra import NodeType, Trace, TraceBuilder
from yantra.cli import main
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.pytorch.in_memory import converted, converted_job
from yantra.tracing.why.accounts import account, accounts, busy_ns
from yantra.tracing.why.look import look
from yantra.tracing.why.rank import ranks_of


def _busy_us(form: dict[str, list[dict[str, float | str]]]) -> float:
    spans = sorted(
        (float(one["ts"]), float(one["ts"]) + float(one["dur"]))
        for one in form["traceEvents"]
        if one["cat"] == "kernel"
    )
    total = until = 0.0
    for start, end in spans:
        total += max(end, until) - max(start, until)
        until = max(end, until)
    return total


@pytest.mark.parametrize("seed", range(3))
def test_parts_add_up_to_the_window_and_busy_time_is_that_of_the_file(
    seed: int, tmp_path: Path
) -> None:
    plan = Plan(seed=seed, late=("host", 1, 0, 400.0))
    traces, _ = converted([write(plan, tmp_path)])
    for rank, form in zip(ranks_of(traces), job(plan), strict=True):
        parts = account(rank)
        assert sum(parts.values()) == rank.end_ns - rank.begin_ns
        assert min(parts.values()) >= 0
        assert busy_ns(rank.work) == pytest.approx(1000 * _busy_us(form), rel=1e-3)
        middle = (rank.begin_ns + rank.end_ns) // 2
        halves = accounts(rank, [(rank.begin_ns, middle), (middle, rank.end_ns)])
        assert all(halves[0][part] + halves[1][part] == ns for part, ns in parts.items())


@pytest.mark.parametrize("seed", range(3))
def test_measured_durations_end_when_the_recording_did(seed: int, tmp_path: Path) -> None:
    """Within a microsecond, the grid's, however many delays there are and short the kernels."""
    pattern = write(Plan(seed=seed, steps=5, layers=4), tmp_path)
    traces, _ = converted([pattern])
    for trace, rank in zip(traces, ranks_of(traces), strict=True):
        ends: dict[int, int] = {}
        for node in trace.trace:
            begin = max((ends[dep] for dep in (*node.data_deps, *node.ctrl_deps)), default=0)
            took = node.get("duration_ns", 0)
            ends[node.id] = begin + (took if isinstance(took, int) else 0)
        window = rank.end_ns - rank.begin_ns
        assert window - 1000 <= max(ends.values()) - _begin(trace) <= window


def _begin(one: RankTrace) -> int:
    """When a rank's recording begins, after the origin that its ranks share."""
    starts = [node.get("start_time_ns") for node in one.trace]
    return min(start for start in starts if isinstance(start, int))


def test_copies_and_fills_are_no_kernels(tmp_path: Path) -> None:
    form = job(Plan(ranks=2, steps=1))[0]
    (number, end) = max(
        (one["args"]["correlation"], one["ts"] + one["dur"])
        for one in form["traceEvents"]
        if one["cat"] == "kernel"
    )
    args = {"device": 0, "stream": 9, "correlation": number}
    for at, (cat, name) in enumerate(
        (("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)"), ("gpu_memset", "Memset (Device)"))
    ):
        form["traceEvents"].append(
            {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 9, "ts": end + 10 + 30 * at,
             "dur": 20.0, "args": args}
        )  # fmt: skip
    (tmp_path / "one.json").write_text(json.dumps(form))
    (trace,) = converted([str(tmp_path / "one.json")])[0]
    parts = account(next(ranks_of([trace])))
    assert parts["memory"] == 40_000
    assert parts["kernels"] + parts["communication"] == pytest.approx(
        1000 * _busy_us(form), rel=1e-6
    )


def test_look_says_what_is_there_and_what_is_missing(tmp_path: Path) -> None:
    pattern = write(Plan(ranks=4, steps=2), tmp_path)
    found, _ = look([pattern])
    assert (found.device, found.ranks, found.world_size) == ("Test GPU", [0, 1, 2, 3], 4)
    assert found.steps == [0, 1] and found.holds["collectives"] == 8
    assert found.answers[0].how == f"yantra trace why '{pattern}'"
    some = [pattern.format(rank=rank) for rank in range(4)]
    assert look(some)[0].answers[0].how == f"yantra trace why {some[0]} ..."
    one, _ = look([pattern.format(rank=2)])
    assert one.ranks == [2] and one.world_size == 4
    (late,) = [answer for answer in one.answers if answer.question == "who is late"]
    assert not late.can and "all 4 ranks" in late.how
    asked = {answer.question: answer for answer in one.answers}
    assert not asked["is the network slow"].can and asked["another GPU"].can
    assert "--step N" in asked["another plan"].how


@pytest.mark.parametrize("kind", ["allgather", "allreduce", "all_to_all"])
def test_a_plan_is_promised_only_where_rescale_makes_it_and_both_give_one_reason(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pattern = write(Plan(ranks=2, steps=1, layers=2), tmp_path)
    for path in tmp_path.glob("rank*.json"):
        path.write_text(path.read_text().replace("allgather", kind))
    (answer,) = [one for one in look([pattern])[0].answers if one.question == "another plan"]
    line = ["trace", "rescale", pattern, "--set", "dp=x2", "-o", str(tmp_path / "more")]
    assert main(line) == (0 if answer.can else 3)
    assert answer.can or f": dp: {answer.how}" in capsys.readouterr().err


def test_other_ranks_are_not_read_once_one_rules_more_replicas_out(tmp_path: Path) -> None:
    seen: list[int] = []

    def refuse(rank: int, trace: Trace) -> None:
        seen.append(rank)
        raise UnsupportedError("enough")

    with pytest.raises(UnsupportedError):
        converted_job([write(Plan(ranks=4, steps=1), tmp_path)], check=refuse)
    assert len(seen) == 1


def test_look_prints_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pattern = write(Plan(steps=1), tmp_path)
    assert main(["trace", "look", pattern]) == 0
    assert "\ndevice        Test GPU\n" in capsys.readouterr().out
    for path in tmp_path.glob("rank*.json"):
        path.write_text(path.read_text().replace("Test GPU", "Tesla V100-SXM2-32GB"))
    assert main(["trace", "look", pattern]) == 0
    assert "--cluster NAME --from v100-sxm\n" in capsys.readouterr().out
    assert main(["trace", "look", pattern, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["holds"]["groups"] == 2


def test_a_made_trace_is_told_from_a_recorded_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = TraceBuilder()
    made.compute("matmul", duration_micros=5)
    made.build().write(tmp_path / "job.0.et")
    assert main(["trace", "look", str(tmp_path / "job.0.et")]) == 2
    assert "was made, not recorded" in capsys.readouterr().err


def test_no_other_gpu_or_plan_is_promised_where_none_was_recorded(tmp_path: Path) -> None:
    for rank, _, trace in Pipeline(3).job():
        trace.write(tmp_path / f"stage.{rank}.et")
        silent = Trace([node for node in trace if node.type == NodeType.COMP][:9])
        silent.write(tmp_path / f"alone{rank}.0.et")
    stages = {one.question: one for one in look([str(tmp_path / "stage.{rank}.et")])[0].answers}
    alone = {one.question: one for one in look([str(tmp_path / "alone0.0.et")])[0].answers}
    assert not stages["another GPU"].can and not alone["another GPU"].can
    assert stages["another plan"].can and "--set pp=x2" in stages["another plan"].how
    assert not alone["another plan"].can
