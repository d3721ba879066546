"""`yantra workload train`: flags by every name, a summary, a file; or one error and no file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from yantra.base.errors import ConfigError
from yantra.cli.workload.job_options import JobOption
from yantra.cli.workload.train import command
from yantra.workloads.models import description
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan import names
from yantra.workloads.plan.plan import Plan
from yantra.workloads.templates import load

SMALL = ["--model", "llama3-8b", "--num-layers", "2", "--hidden-size", "256", "--seq", "128"]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> str:
    done = CliRunner().invoke(command, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def plan_of(path: str) -> dict[str, Any]:
    made: dict[str, Any] = load(path).about["plan"]
    return made


def test_it_writes_a_workload_and_tells_what_is_in_it() -> None:
    shown = run(*SMALL, "--tp", "2", "--pp", "2", "--dp", "2", "--global-batch", "8", "-o", "w.yw")
    lines = shown.splitlines()
    assert lines[0] == "llama3-8b, 128 tokens, bf16: tp 2, pp 2, dp 2"
    assert lines[1].startswith("8 ranks, 2 templates, 4 micro-batches, ")
    assert lines[-1].startswith("wrote w.yw: 0.")
    assert any(line.split()[:2] == ["all-gather", "tp"] for line in lines)
    assert "stage1" in shown
    assert load("w.yw").ranks == 8


def test_the_same_plan_by_names_of_megatron_gives_the_same_bytes() -> None:
    run(*SMALL, "--tp", "2", "--dp", "4", "--zero", "1", "--no-overlap-p2p", "-o", "ours.yw")
    run(
        "--model", "llama3-8b", "--num-hidden-layers", "2", "--n-embd", "256",
        "--seq-length", "128", "--tensor-model-parallel-size", "2", "--world-size", "8",
        "--use-distributed-optimizer", "--no-overlap-p2p-communication", "-o", "theirs.yw",
    )  # fmt: skip
    assert Path("ours.yw").read_bytes() == Path("theirs.yw").read_bytes()


def test_a_saved_job_gives_the_same_bytes_and_flags_count_more() -> None:
    run(*SMALL, "--tp", "2", "--dp", "4", "--zero", "1", "-o", "first.yw", "--save-job", "j.yaml")
    run("--job", "j.yaml", "-o", "again.yw")
    assert Path("first.yw").read_bytes() == Path("again.yw").read_bytes()
    run("--job", "j.yaml", "--zero-stage", "3", "-o", "other.yw")
    assert plan_of("other.yw")["zero"] == 3
    assert plan_of("other.yw")["tp"] == 2


def test_a_model_may_be_given_by_its_sizes() -> None:
    shown = run(
        "--num-layers", "2", "--hidden-size", "64", "--n-head", "4", "--dff", "128",
        "--dvocal", "96", "--seq-length", "32", "--no-swiglu",
    )  # fmt: skip
    assert shown.startswith(
        "custom, 32 tokens, bf16: one rank\n1 rank, 1 template, 1 micro-batch, "
    )
    assert "communication of a rank, at most:\n  none\n" in shown


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "model: expected a name such as llama3-8b"),
        (["--model", "lama3-8b"], "did you mean 'llama3-8b'?"),
        ([*SMALL, "--tp", "3"], "--tp: 32 attention heads are not divisible by 3"),
        ([*SMALL, "--tp", "3", "--dp", "2"], "the nearest possible plan on 6 ranks: --tp 2 --dp 3"),
        ([*SMALL, "--memory", "1MiB"], "memory: stage 0 of 1 needs"),
        ([*SMALL, "--memory", "80"], "--memory: a number needs its unit"),
        ([*SMALL, "--cluster", "hgx"], "cluster: no cluster is named 'hgx'"),
        ([*SMALL, "--cluster", "hgx-h100", "--memory", "1GiB"], "is given by --cluster, too"),
        ([*SMALL, "--seq-length", "64"], "--seq-length: contradicts --seq: 64 and 128"),
        ([*SMALL, "--hf-config", "c.json"], "--hf-config: contradicts --model"),
        (["--hf-config", "absent.json"], "absent.json: cannot be read"),
        (["--job", "absent.yaml"], "absent.yaml: cannot be read"),
        ([*SMALL, "--tp", "2", "--tensor-parallel-size", "4"], "contradicts --tp: 4 and 2"),
        ([*SMALL, "--micro-batch", "0"], "--micro-batch: expected a whole number of at least 1"),
        ([*SMALL, "--n-layer", "3"], "model: --n-layer: contradicts --num-layers, which says 2"),
        ([*SMALL, "--schedule", "1f2b"], "--schedule: no schedule is named '1f2b'"),
    ],
)
def test_a_mistake_is_named_and_nothing_is_written(words: list[str], problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        CliRunner().invoke(command, [*words, "-o", "w.yw"], catch_exceptions=False)
    assert problem in str(raised.value)
    assert not Path("w.yw").exists()


def test_every_name_is_a_flag() -> None:
    flags = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    sizes = (*Transformer.field_names, *(n for more in description.ALIASES.values() for n in more))
    lists = {"name", "source", "notes", "moe_layer_freq", "window_attn_skip_freq", "seq_size"}
    lists.add("encoder_seq_length")
    wanted = {*names.known_names(), *names.SEQUENCE_NAMES, *sizes} - lists
    assert {f"--{name.replace('_', '-')}" for name in wanted} <= flags


def test_help_shows_our_names_and_hides_those_of_others() -> None:
    shown, seldom = run("--help"), f"\n{run('--set', 'help')}"
    for field in Plan.field_names:
        assert f"  --{field.replace('_', '-')}" in shown or f"\n{field} " in seldom
    hidden = [p for p in command.params if isinstance(p, JobOption) and p.hidden]
    assert len(hidden) > 80
    assert "--use-distributed-optimizer" not in shown


def test_no_two_flags_are_the_same() -> None:
    seen: set[str] = set()
    for option in command.params:
        assert isinstance(option, click.Option)
        for flag in (*option.opts, *option.secondary_opts):
            assert flag not in seen
            seen.add(flag)
