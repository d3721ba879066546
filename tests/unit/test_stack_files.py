"""Files of stacks follow from what is recorded, and carry what is known of frameworks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from yantra import accuracy
from yantra.accuracy import stack_files
from yantra.accuracy.predict import given_of
from yantra.accuracy.rows import UNKNOWN, Row
from yantra.accuracy.suite import recorded, recorded_runs
from yantra.fabric import clusters, stacks
from yantra.fabric.clusters.types import Number
from yantra.fabric.stacks.types import NOTHING


def row(stack: str, cluster: str, plan: str = "{}", dtype: str = "bf16") -> Row:
    return Row("set", "one", "gpu", dtype, stack, "m", 8, cluster, "{}", plan, 1.0)


def test_the_built_in_files_follow_from_the_recorded_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built_in = Path(stack_files.FOLDER)
    monkeypatch.setattr(stack_files, "FOLDER", str(tmp_path))
    stack_files.write_all(recorded(), recorded_runs().known)
    made = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_text(encoding="utf-8") for path in built_in.iterdir()}


@pytest.mark.parametrize(
    "module",
    ["predict", "stack_files", "fit", "effects", "splits", "own_stack", "own_fit", "with_stack"],
)
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
        given_of(row("megatron-bridge", cluster, plan, "fp8")._replace(release="26.04")).launch_ns
        for cluster, plan in (("hgx-h100", experts), ("mi300x", experts), ("hgx-h100", "{}"))
    ]
    assert bridge == [130e3, 130e3, 0.0]
    of_release = row("megatron-bridge", "hgx-h100", experts)._replace(release="26.06")
    assert of_release.file.copies is not None
    assert of_release._replace(plan="{}").file.copies is None
    nobody = row("mine", "hgx-h100", experts)
    assert nobody.file.name == UNKNOWN
    assert given_of(nobody) == given_of(nobody._replace(cluster="dgx-a100-80gb"))


def test_a_stack_states_sms_or_has_a_factor_of_communication_that_holds_them() -> None:
    for name in stacks.names():
        stack = stacks.load(name)
        has_factor = any(terms.communication != NOTHING for _, terms in stack.machines)
        assert {terms.taken.value for _, terms in stack.machines} == {0.0 if has_factor else 0.182}
        parts = [stack.scenario_part(cluster) for cluster, _ in stack.machines]
        assert {"taken" in part for part in parts} == {not has_factor}


def test_a_row_is_run_with_the_sms_that_its_stack_states(monkeypatch: pytest.MonkeyPatch) -> None:
    one = row("megatron-2022", "dgx-a100-80gb")
    stated = Number(value=0.222, unit="", written="0.222", source="24 of 108 SMs")
    file = one.file
    machines = tuple((key, terms.replace(taken=stated)) for key, terms in file.machines)
    monkeypatch.setattr(Row, "file", file.replace(machines=machines))
    assert given_of(one).taken == 0.222
