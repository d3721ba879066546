"""Files of stacks: they follow from what is recorded, and carry what is known of frameworks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from yantra import accuracy
from yantra.accuracy import stack_files
from yantra.accuracy.predict import given_of
from yantra.accuracy.rows import UNKNOWN, Row
from yantra.accuracy.suite import recorded, recorded_runs
from yantra.accuracy.user_steps import read_steps, seconds_with, stack_text
from yantra.fabric import clusters, stacks
from yantra.run.simulate import simulate
from yantra.scenario.on_cluster import on_cluster
from yantra.workloads.training.train import train

STEPS = """model,cluster,dtype,plan,seconds
llama3-8b,dgx-a100-80gb,bf16,tp=8 dp=1 global_batch=8,9.0
"""
EXPERTS = """model,cluster,dtype,plan,seconds
mixtral-8x7b,hgx-h100,bf16,tp=1 ep=8 dp=16 global_batch=16,1.5
"""


def row(stack: str, cluster: str, plan: str = "{}", dtype: str = "bf16") -> Row:
    return Row("set", "one", "gpu", dtype, stack, "m", 8, cluster, "{}", plan, 1.0)


def test_the_built_in_files_follow_from_the_recorded_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built_in = Path(stack_files.FOLDER)
    monkeypatch.setattr(stack_files, "FOLDER", str(tmp_path))
    stack_files.write_all(recorded(), *recorded_runs())
    made = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_text(encoding="utf-8") for path in built_in.iterdir()}


@pytest.mark.parametrize("module", ["predict", "stack_files", "fit", "splits", "user_steps"])
def test_no_framework_and_no_machine_is_named_in_the_code(module: str) -> None:
    path = Path(accuracy.__path__[0], f"{module}.py")
    texts = {
        node.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert not texts & ({*stacks.names(), *clusters.names()} - {UNKNOWN})


def test_a_row_is_run_with_what_the_file_of_its_stack_gives() -> None:
    experts = '{"ep":8}'
    eager = given_of(row("megatron-deepspeed-2023", "dgx-a100-80gb"))
    assert (eager.launch_ns, eager.attention, eager.straggling) == (65e3, 1.0, 0.008)
    old = [given_of(row("fsdp-eager-2023", name)) for name in ("dgx-a100-80gb", "hgx-h100")]
    assert [one.attention for one in old] == [1.8, 3.0]
    bridge = [
        given_of(row("megatron-bridge-2026", cluster, experts, "fp8")).launch_ns
        for cluster in ("hgx-h100", "gb200-nvl72", "mi300x")
    ]
    assert bridge == [65e3, 0.0, 65e3]
    assert row("megatron-bridge-2026", "hgx-h100", experts).file.copies is not None
    assert row("megatron-bridge-2026", "hgx-h100").file.copies is None
    nobody = row("mine", "hgx-h100", experts)
    assert nobody.file.name == UNKNOWN
    assert given_of(nobody) == given_of(nobody._replace(cluster="dgx-a100-80gb"))


@pytest.mark.parametrize("name", ["mine", "megatron-deepspeed-2023", "fsdp-eager-2023"])
def test_a_calibrated_stack_keeps_what_is_known_of_its_framework(name: str, tmp_path: Path) -> None:
    steps, made = tmp_path / "steps.csv", tmp_path / "made.yaml"
    steps.write_text(STEPS)
    text, parts = stack_text(read_steps(steps, name), name)
    made.write_text(text)
    found = stacks.load(made).terms("dgx-a100-80gb")[1]
    given = stacks.load(name if name in stacks.names() else UNKNOWN).terms("dgx-a100-80gb")[1]
    for term in ("launch", "older_attention", "straggling"):
        assert getattr(found, term) == getattr(given, term)
    (one,) = parts
    with_it = seconds_with(stacks.load(made), one.row)
    assert abs(with_it / 9.0 - 1) < abs(one.seconds / 9.0 - 1)
    workload = tmp_path / "step.yw"
    train(one.row.made_model(), one.row.made_plan()).save(workload)
    scenario = on_cluster(str(workload), one.row.cluster, dtype="bf16", stack=str(made))
    assert with_it == pytest.approx(float(simulate(scenario).finish_ns.max()) / 1e9, rel=1e-12)


def test_own_experts_are_sent_as_often_as_when_they_were_fitted(tmp_path: Path) -> None:
    steps, made = tmp_path / "steps.csv", tmp_path / "made.yaml"
    steps.write_text(EXPERTS)
    for name, copies in (("mine", None), ("megatron-bridge-2026", 8)):
        rows = read_steps(steps, name)
        text, _ = stack_text(rows, name)
        made.write_text(text)
        found = stacks.load(made).copies
        assert (found and int(found.value)) == copies
        assert rows[0].file.copies == found
