"""`yantra plan --emit`: what it writes starts as the wrappers say, and runs as the plan does."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from yantra.cli import main

PLAN = ["plan", "--model", "llama3-8b", "--ranks", "16", "--cluster", "hgx-h100", "--no-refine"]
MORE = ["--global-batch", "16", "--top", "1", "--stack", "roofline", "--json", "--allow",
        "gradient_dtype=fp32", "--allow", "zero=3", "--seq", "1024"]  # fmt: skip


@pytest.mark.parametrize(
    ("framework", "file"),
    [("megatron", "train.sh"), ("nemo", "train.sh"), ("torchtitan", "train.toml")],
)
def test_the_files_run_as_long_as_the_plan(
    framework: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*PLAN, *MORE, "--emit", framework, "-o", str(tmp_path)]) == 0
    (cluster,) = json.loads(capsys.readouterr().out)["clusters"]
    run = ["run", str(tmp_path / file), "--cluster", "hgx-h100", "--stack", "roofline", "--json"]
    assert main(run) == 0
    ran = json.loads(capsys.readouterr().out)
    assert ran["figures"]["step_time_ns"] == cluster["ranked"][0]["time_ns"]
    life = ["life", run[1], *run[2:], "--gpus", "16", "--days", "9", "--set", "lives=4"]
    assert main(life) == 0
    step_s = json.loads(capsys.readouterr().out)["step_s"]
    assert step_s == pytest.approx(cluster["ranked"][0]["time_ns"] / 1e9)


@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
@pytest.mark.parametrize("framework", ["megatron", "nemo", "torchtitan", "deepspeed"])
def test_the_best_plan_of_a_default_search_is_one_that_the_framework_can_say(
    framework: str, dtype: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = ["plan", "--model", "llama3-8b", "--ranks", "16", "--cluster", "hgx-b200", "--dtype"]
    more = ["--global-batch", "16", "--no-refine", "--stack", "roofline", "--json"]
    status = main([*plan, dtype, *more, "--emit", framework, "-o", str(tmp_path)])
    out = capsys.readouterr()
    if (framework, dtype) == ("deepspeed", "fp8"):
        assert status == 2
        assert 'what it can say is \\"fp32\\" (--dtype fp32)' in out.err
        return
    assert status == 0
    (cluster,) = json.loads(out.out)["clusters"]
    file = "train.toml" if framework == "torchtitan" else "train.sh"
    run = ["run", str(tmp_path / file), "--cluster", "hgx-b200", "--stack", "roofline", "--json"]
    assert main(run) == 0
    ran = json.loads(capsys.readouterr().out)
    best = cluster["ranked"][0]
    assert ran["figures"]["step_time_ns"] == best["time_ns"]
    assert ran["figures"]["memory_need_bytes"] == best["memory_bytes"]


def test_the_wrappers_start_two_nodes_of_eight(tmp_path: Path) -> None:
    assert main([*PLAN, *MORE, "--emit", "megatron", "-o", str(tmp_path)]) == 0
    for script in ("train.sh", "slurm.sh"):
        subprocess.run(["bash", "-n", str(tmp_path / script)], check=True)
    assert "--nodes=2" in (tmp_path / "slurm.sh").read_text()
    files, _, job = yaml.safe_load_all((tmp_path / "kubernetes.yaml").read_text())
    assert files["data"]["train.sh"] == (tmp_path / "train.sh").read_text()
    assert job["spec"]["completions"] == 2
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 8


@pytest.mark.parametrize(("more", "is_there"), [("zero=1", True), ("zero=3", False)])
def test_tensor_parallel_plans_set_what_megatron_refuses_to_start_without(
    more: str, is_there: bool, tmp_path: Path
) -> None:
    plan = [*PLAN, "--global-batch", "16", "--top", "1", "--stack", "roofline", "--allow", "tp=2"]
    for framework in ("megatron", "nemo"):
        assert (
            main([*plan, "--allow", more, "--emit", framework, "-o", str(tmp_path / framework)])
            == 0
        )
        script = (tmp_path / framework / "train.sh").read_text()
        assert ("export CUDA_DEVICE_MAX_CONNECTIONS" in script) is is_there


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["--emit", "megatrn", "-o", "job"], "did you mean 'megatron'?"),
        (["--emit", "megatron"], "expected a folder, as --emit writes files"),
        (["--emit", "megatron", "-o", "job.json"], "expected a folder"),
    ],
)
def test_what_cannot_be_written_is_said(
    given: list[str], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main([*PLAN, *MORE, *given]) == 2
    assert problem in capsys.readouterr().err


def test_a_file_says_the_model_of_a_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*PLAN, *MORE, "--emit", "megatron", "-o", str(tmp_path)]) == 0
    first = json.loads(capsys.readouterr().out)["clusters"][0]["ranked"][0]
    again = [str(tmp_path / "train.sh") if one == "llama3-8b" else one for one in PLAN]
    assert main([*again, *MORE]) == 0
    assert json.loads(capsys.readouterr().out)["clusters"][0]["ranked"][0] == first


def test_what_a_framework_cannot_say_is_refused_before_the_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--model", "llama3-8b", "--ranks", "16", "--cluster", "hgx-h100", "--tp", "2"]
    more = ["--global-batch", "64", "--emit", "deepspeed", "-o", str(tmp_path / "out")]
    assert main(["plan", *asked, *more]) == 2
    told = capsys.readouterr()
    assert "--tp: DeepSpeed has no argument for 2; what it can say is 1" in told.err
    assert not told.out
