"""One question through several doors has one answer."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import yantra
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.scenario import cluster_parts
from yantra.ui.controls import Offered
from yantra.ui.worker import Room, answer
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

PLAN = {"tp": 4, "pp": 2, "global_batch": 16}
JOB = "{model: llama3-8b, plan: {tp: 4, pp: 2, dp: 2, global_batch: 16}}"
STACKS = ["unknown", "roofline", "nominal", "megatron-bridge"]


def told_by_the_page(form: dict[str, str]) -> dict[str, Any]:
    asked = {"act": "run", "form": form}
    page: dict[str, Any] = json.loads(json.dumps(answer(asked, Room("", Offered()))))["told"]
    return page


@pytest.mark.parametrize("stack", STACKS)
def test_one_question_through_seven_doors_has_the_same_bits(
    stack: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = yantra.predict("llama3-8b", ranks=16, cluster="hgx-h100", stack=stack, **PLAN)
    work = train("llama3-8b", Plan(dp=2, **PLAN))  # type: ignore[arg-type]
    work.save("step.yw")
    parts = cluster_parts("hgx-h100", 16, stack=stack)
    templates = yantra.Templates(workload=work)
    said = [yantra.simulate(yantra.Scenario(workload=templates, **parts)).figures.as_dict()]
    Path("field.yaml").write_text(f"workload: {JOB}\ncluster: hgx-h100\nstack: {stack}\n")
    Path("job.yaml").write_text(f"workload: {JOB}\ncluster: hgx-h100\n")
    lines = (
        f"run step.yw --cluster hgx-h100 --stack {stack} --json",
        "run field.yaml --json",
        f"run job.yaml --set stack={stack} --json",
        f"sweep step.yw --cluster hgx-h100 --stack {stack} --json",
        f"explain job.yaml --stack {stack} --json",
    )
    for line in lines:
        assert main(line.split()) == 0
        form = json.loads(capsys.readouterr().out)
        assert form["makespan_ns"] == asked.result.makespan_ns
        said += [form["figures"]] if "figures" in form else []
    assert len(said) > len(lines) - 1
    page = told_by_the_page(
        {"ranks": "16", "cluster": "hgx-h100", "stack": stack, "zero": "0"}
        | {name: str(value) for name, value in PLAN.items()}
    )
    assert page["makespan_ns"] == asked.result.makespan_ns
    said.append(page["figures"])
    names = ("step_time_ns", "time_low_ns", "time_high_ns", "mfu", "cost_usd")
    for one in said:
        assert [one.get(name) for name in names] == [
            asked.figures.as_dict().get(name) for name in names
        ]
    assert asked.interval_s is None or asked.interval_s[0] < asked.time_s < asked.interval_s[1]
    assert (asked.interval_s is None) == (stack in ("roofline", "nominal"))


QUESTIONS = 6


@pytest.mark.parametrize("seed", range(QUESTIONS))
def test_a_random_question_has_one_answer(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    draw = Random(seed)
    plan: dict[str, Any] = {"tp": draw.choice([2, 4]), "pp": draw.choice([1, 2])}
    plan |= {"vpp": draw.choice([1, 2]) if plan["pp"] > 1 else 1, "zero": draw.choice([1, 2])}
    plan |= {"micro_batch": draw.choice([1, 2]), "recompute": draw.choice(["none", "full"])}
    plan |= {"global_batch": 32, "dtype": draw.choice(["bf16", "fp8"])}
    model = draw.choice(["llama3-8b", "gpt3-1.3b", "gpt3-13b"])
    cluster = draw.choice(["hgx-h100", "hgx-b200", "mi300x"])
    stack = draw.choice(["unknown", "roofline", "nominal", "megatron-2022", "llama3-meta"])
    network, price = draw.choice(["analytical", "flow"]), draw.choice(["", "1.25 USD/h"])
    form = {name: str(value) for name, value in plan.items()}
    form |= {"model": model, "cluster": cluster, "ranks": "16", "stack": stack, "sequence": "2048"}
    page = told_by_the_page(form | {"network": network, "price": price})
    job = {"model": model, "sequence": 2048, "plan": plan | {"ranks": 16}}
    Path("job.yaml").write_text(json.dumps(job))
    line = f"run job.yaml --cluster {cluster} --stack {stack} --network {network} --json".split()
    code = main([*line, *(["--set", f"cluster.machine.price={price}"] if price else [])])
    printed = capsys.readouterr()
    if code:
        assert printed.err == f"error: {page['error']}\n"
        return
    told = json.loads(printed.out)
    assert page["makespan_ns"] == told["makespan_ns"] and page["figures"] == told["figures"]
    if network == "analytical" and not price:
        asked = yantra.predict(model, ranks=16, cluster=cluster, stack=stack, sequence=2048, **plan)
        assert asked.result.makespan_ns == page["makespan_ns"]
        assert asked.figures.as_dict() == page["figures"]


def test_ranks_that_a_plan_does_not_fill_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"ranks: 60 is no multiple of .* = 8; nearest: 56 or 64"):
        yantra.predict("llama3-8b", ranks=60, cluster="hgx-h100", tp=8)
    with pytest.raises(ConfigError, match=r"ranks: gives dp = 8, but dp says 2"):
        yantra.predict("llama3-8b", ranks=64, cluster="hgx-h100", tp=8, dp=2)


def test_what_there_was_is_answered_with_what_says_it_now(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for flag, value, now in (
        ("--speeds", "measured", "--stack: achievable is roofline"),
        ("--profile", "mine.yaml", "--stack FILE: a file with `kernels:`"),
        ("--collectives", "mine.yaml", "--stack FILE: a file with `collectives:`"),
        ("--dtype", "fp8", "what the workload says"),
    ):
        assert main(["run", "step.yw", "--cluster", "hgx-h100", flag, value]) == 2
        assert f"{flag} is now {now}" in capsys.readouterr().err


def test_a_stack_that_is_said_twice_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "step.yaml"
    path.write_text(f"workload: {JOB}\ncluster: hgx-h100\n")
    assert main(["run", str(path), "--stack", "unknown", "--set", "stack=roofline"]) == 2
    assert "--stack and --set stack= say the same" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("network: flow\n", "no interval"),
        ("collectives: {all_reduce: [ring, ring]}\n", "no interval"),
    ],
)
def test_messages_in_place_of_measured_collectives_have_no_interval(
    more: str, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "step.yaml"
    path.write_text(f"workload: {JOB}\ncluster: hgx-h100\nstack: unknown\n{more}")
    result = yantra.simulate(path)
    assert result.interval is None and result.figures.rests_on is not None
    assert (
        says in result.figures.rests_on and "(collectives as messages)" in result.figures.rests_on
    )
    assert result.messages > 0


@pytest.mark.parametrize(
    "more",
    ["--all-reduce ring", "--chunks 4", "--set collectives.chunks=4", "--set network=flow"],
)
def test_an_algorithm_that_is_asked_for_runs_in_place_of_measured_collectives(
    more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    train("llama3-8b", Plan(dp=2, **PLAN)).save("step.yw")  # type: ignore[arg-type]
    assert main(["run", "step.yw", "--cluster", "hgx-h100", *more.split()]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "stack unknown (collectives as messages)" in said and "no interval" in said
    assert "NCCL measured" not in said


def test_recorded_durations_stay_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = yantra.chakra.TraceBuilder()
    trace.compute(duration_micros=100)
    for rank in range(8):
        trace.build().write(str(tmp_path / f"job.{rank}.et"))
    line = ["run", str(tmp_path / "job.{rank}.et"), "--cluster", "hgx-h100", "--json"]
    assert main([*line, "--set", "cluster.device.compute=recorded"]) == 0
    assert json.loads(capsys.readouterr().out)["makespan_ns"] == 100_000


def test_an_interval_stands_beside_what_it_was_fitted_to_alone(tmp_path: Path) -> None:
    path = tmp_path / "step.yaml"
    path.write_text(
        f"workload: {JOB}\nstack: megatron-2022\n"
        "cluster: {name: hgx-h100, device: {compute: roofline}}\n"
    )
    with pytest.raises(ConfigError, match=r"stack: megatron-2022.*: was fitted to"):
        yantra.simulate(path)


def test_plans_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    found = yantra.plan("llama3-8b", ranks=16, cluster="hgx-h100", global_batch=32, tp=(2, 4))
    line = "plan --model llama3-8b --ranks 16 --cluster hgx-h100 --global-batch 32 --tp 2,4 --json"
    assert main(line.split()) == 0
    (told,) = json.loads(capsys.readouterr().out)["clusters"]
    assert [one["time_ns"] for one in told["ranked"]] == [one.time_ns for one in found.plans]
    assert found.best.sure is not None and found.best.sure.low < 1 < found.best.sure.high
    plan = found.best.plan
    asked = yantra.predict(
        "llama3-8b", ranks=16, cluster="hgx-h100", **{n: getattr(plan, n) for n in plan.field_names}
    )
    assert asked.result.makespan_ns == found.best.time_ns
    assert "tp" in repr(found) and "<table" in found._repr_html_()
