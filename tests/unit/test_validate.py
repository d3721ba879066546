"""`yantra validate` finds what a run would refuse, and more than the first of it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.golden.astra_sim_inputs import write
from yantra.chakra import Node, NodeType, TraceBuilder
from yantra.cli import main
from yantra.run import validate as validation
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

Captured = pytest.CaptureFixture[str]


def _lines(arguments: list[str], capsys: Captured) -> tuple[int, list[str]]:
    status = main(["validate", *arguments])
    return status, capsys.readouterr().out.splitlines()


def test_valid_inputs_are_counted(tmp_path: Path, capsys: Captured) -> None:
    status, lines = _lines(write("overlap", tmp_path), capsys)
    assert (status, lines[0]) == (0, "valid: 4 ranks, 12 nodes; 0 warnings")
    assert lines[1].startswith("work: about ") and len(lines) == 2


def test_warnings_do_not_make_inputs_invalid(tmp_path: Path, capsys: Captured) -> None:
    status, lines = _lines(write("roofline", tmp_path), capsys)
    assert status == 0
    assert lines[0].startswith("warning: ") and "all-to-all-implementation" in lines[0]
    assert lines[-2] == "valid: 8 ranks, 24 nodes; 1 warning"


def test_every_file_is_looked_at(tmp_path: Path, capsys: Captured) -> None:
    options = write("tutorial", tmp_path)
    (tmp_path / "system.json").write_text("{")
    (tmp_path / "memory.json").write_text('{"memory-type": "CLOUD"}')
    (tmp_path / "workload.3.et").write_bytes(b"not a trace")
    (tmp_path / "workload.5.et").unlink()
    status, lines = _lines(options, capsys)
    assert status == 2
    for name in ("system.json", "memory.json", "workload.3.et", "workload.5.et"):
        assert any(line.startswith("error: ") and name in line for line in lines), name
    assert lines[-1] == "4 errors, 0 warnings"


def test_every_trace_is_looked_at(tmp_path: Path, capsys: Captured) -> None:
    options = write("tutorial", tmp_path)
    for rank in (1, 6):
        trace = TraceBuilder()
        trace.compute(after=100 + rank)
        trace.build().write(tmp_path / f"workload.{rank}.et")
    status, lines = _lines(options, capsys)
    assert status == 2
    assert "workload.1.et" in lines[0] and "101" in lines[0]
    assert "workload.6.et" in lines[1] and "106" in lines[1]


def test_what_the_scenario_does_not_need_is_a_warning(tmp_path: Path, capsys: Captured) -> None:
    options = write("tutorial", tmp_path)
    trace = TraceBuilder()
    trace.add(Node(1, "sum", NodeType.COMM_COLL, 5))
    for rank in range(8):
        trace.build().write(tmp_path / f"workload.{rank}.et")
    system = json.loads((tmp_path / "system.json").read_text())
    assert _lines(options, capsys)[0] == 2
    (tmp_path / "system.json").write_text(json.dumps(system | {"replay-only": 1}))
    status, lines = _lines(options, capsys)
    assert status == 0
    assert lines[0].startswith("warning: ") and "(this scenario does not need it)" in lines[0]


def test_a_scenario_file_is_checked(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "s.yaml").write_text("workload: {traces: 't.{rank}.et'}\nclutser: {}\n")
    status, lines = _lines([str(tmp_path / "s.yaml")], capsys)
    assert status == 2
    assert "did you mean 'cluster'?" in lines[0]


def test_what_no_model_covers_is_status_3(tmp_path: Path, capsys: Captured) -> None:
    options = write("overlap", tmp_path)
    system = json.loads((tmp_path / "system.json").read_text())
    del system["all-reduce-implementation"]
    (tmp_path / "system.json").write_text(json.dumps(system))
    status, lines = _lines(options, capsys)
    assert status == 3
    assert "has no algorithm" in lines[0]


def test_findings_as_json(tmp_path: Path, capsys: Captured) -> None:
    assert main(["validate", "--json", str(tmp_path / "none.yaml")]) == 2
    form = json.loads(capsys.readouterr().out)
    assert form["valid"] is False and form["exit_code"] == 2
    assert [finding["severity"] for finding in form["findings"]] == ["error"]


def _job(folder: Path, ranks: list[TraceBuilder], network: str = "analytical") -> list[str]:
    for rank, trace in enumerate(ranks):
        trace.build().write(folder / f"job.{rank}.et")
    (folder / "job.yaml").write_text(
        f"workload: {{traces: 'job.{{rank}}.et'}}\nnetwork: {network}\n"
        f"cluster: {{topology: [{{kind: ring, size: {len(ranks)}, "
        "bandwidth: 50 GB/s, latency: 500 ns}]}\ncollectives: {all_reduce: [ring]}\n"
    )
    return [str(folder / "job.yaml")]


def _random_job(seed: int) -> list[TraceBuilder]:
    draw = random.Random(seed)
    ranks = [TraceBuilder(rank=rank) for rank in range(4)]
    last: list[Any] = [()] * 4
    is_ordered = draw.random() < 0.5

    def add(rank: int, node: Any) -> None:
        last[rank] = node if is_ordered else ()

    for tag in range(draw.randint(1, 6)):
        if draw.random() < 0.3:
            for rank, trace in enumerate(ranks):
                add(rank, trace.collective("all_reduce", 4096, after=last[rank]))
            continue
        one, other = draw.sample(range(4), 2)
        size = draw.randint(1, 9000)
        wrong = draw.choice([0, 0, 0, 0, 1])
        add(one, ranks[one].send(other, size, tag=tag, after=last[one]))
        add(other, ranks[other].recv(one, size + wrong, tag=tag, after=last[other]))
    for trace in ranks:
        trace.compute(duration_micros=1)
    return ranks


@pytest.mark.parametrize("network", ["analytical", "store_and_forward", "flow", "packet"])
@pytest.mark.parametrize("seed", range(12))
def test_it_gives_the_answer_of_a_run(
    seed: int, network: str, tmp_path: Path, capsys: Captured
) -> None:
    job = _job(tmp_path, _random_job(seed), network)
    status, lines = _lines(job, capsys)
    assert main(["run", *job]) == status
    said = capsys.readouterr().err.splitlines()
    told = [line for line in lines if line.startswith(("error: ", "warning: "))]
    assert [line.split(": ", 1)[1] for line in told] == [
        line.removeprefix("error: ").removeprefix("warning: ") for line in said
    ]


@pytest.mark.parametrize("seed", range(24))
def test_of_a_job_too_large_to_run_messages_are_matched(
    seed: int, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = _job(tmp_path, _random_job(seed))
    status, _ = _lines(job, capsys)
    monkeypatch.setattr(validation, "MOST_EVENTS", -1)
    unrun, lines = _lines(job, capsys)
    assert unrun == status  # these jobs have no other fault
    assert ("not run" in lines[-1]) == (unrun == 0)


def test_both_sizes_of_a_message_that_does_not_fit_are_told(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = [TraceBuilder(rank=rank) for rank in range(3)]
    ranks[0].send(1, 3000, tag=1)
    ranks[1].recv(0, 2000, tag=1)
    ranks[2].compute(duration_micros=1)
    job = _job(tmp_path, ranks)
    for most in (validation.MOST_EVENTS, -1):
        monkeypatch.setattr(validation, "MOST_EVENTS", most)
        status, lines = _lines(job, capsys)
        assert status == 3
        text = "\n".join(lines)
        assert "rank 1 waits" in text and "(tag 1, 2 kB)" in text and "sends 3 kB" in text


def test_a_job_that_does_not_fit_is_refused_as_by_a_run(tmp_path: Path, capsys: Captured) -> None:
    train("gpt3-1.3b", Plan(dp=2), 1024).save(tmp_path / "s.yw")
    (tmp_path / "s.yaml").write_text(
        "workload: {templates: s.yw}\ncluster: {name: hgx-h100, machine: {memory: 1 GiB}}\n"
    )
    status, lines = _lines([str(tmp_path / "s.yaml")], capsys)
    assert main(["run", str(tmp_path / "s.yaml")]) == status == 3
    assert lines[0].startswith("error: workload: hgx-h100 has 1 GiB on each device")
    assert lines[0] in capsys.readouterr().err and lines[1].startswith("1 error")
