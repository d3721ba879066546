"""`--stack auto`: the nearest stack of the framework that a job names, and why that one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import yantra
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.fabric import stacks
from yantra.fabric.stacks import Named
from yantra.fabric.stacks.auto import nearest
from yantra.fabric.stacks.choice import UNKNOWN
from yantra.fabric.stacks.types import ANY
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario import loads
from yantra.scenario.on_cluster import on_cluster
from yantra.workloads import job_file
from yantra.workloads.templates import load
from yantra.workloads.templates.expand import expand

SHIPPED = [stacks.load(name) for name in stacks.names() if name != UNKNOWN]
PLAN = "plan: {tp: 2, ranks: 8, global_batch: 8}"


def took(framework: str, cluster: str, dtype: str = "bf16", kind: str = "dense") -> str:
    return stacks.stack_for(Named(framework, "a job", kind), cluster, dtype).name


@pytest.mark.parametrize("stack", SHIPPED, ids=lambda one: one.name)
def test_a_stack_is_found_by_its_names_on_its_machines_in_its_release_or_year(
    stack: stacks.Stack,
) -> None:
    for name in stack.names or (stack.framework,):
        for key, _ in stack.machines:
            cluster, _, dtype = key.partition(" ")
            dtype = dtype or "bf16"
            if key != ANY:
                said = Named(f"{name} {stack.release or stack.year}", "a job", stack.kind)
                assert stacks.stack_for(said, cluster, dtype).name == stack.name


@pytest.mark.parametrize(
    ("framework", "cluster", "dtype", "kind", "stack"),
    [
        ("Megatron-LM", "dgx-a100-80gb", "bf16", "dense", "megatron-2022"),
        ("megatron_lm 2021", "dgx-a100-80gb", "bf16", "dense", "megatron-2021"),
        ("Megatron LM", "hgx-b200", "bf16", "dense", "megatron-simumax"),
        ("Megatron-LM", "gb200-nvl72", "fp8", "dense", "megatron-bridge-26.06"),
        ("NeMo", "hgx-h100", "fp8", "dense", "megatron-bridge-26.06"),
        ("nemo", "dgx-a100-80gb", "bf16", "dense", "megatron-bridge-26.06"),
        ("Megatron-Bridge", "hgx-h100", "fp8", "moe", "megatron-bridge-moe-26.08"),
        ("Megatron-Bridge 26.04", "hgx-h100", "fp8", "dense", "megatron-bridge-26.04"),
        ("Megatron-DeepSpeed", "dgx-a100-80gb", "fp16", "dense", "megatron-deepspeed-2023"),
        ("Megatron-DeepSpeed", "dgx-a100-80gb", "fp16", "moe", "megatron-bridge-moe-26.08"),
        ("LLM Foundry", "hgx-h100", "bf16", "dense", "fsdp-eager-2023"),
        ("FSDP", "gb200-nvl72", "bf16", "dense", "fsdp-eager-2023"),
        ("Meta", "hgx-h100", "bf16", "dense", "llama3-meta"),
    ],
)
def test_the_nearest_has_the_name_the_kind_the_machine_and_the_year(
    framework: str, cluster: str, dtype: str, kind: str, stack: str
) -> None:
    assert took(framework, cluster, dtype, kind) == stack


@pytest.mark.parametrize(
    ("model", "stack"),
    [("qwen3-30b-a3b", "megatron-bridge-moe-26.08"), ("llama3-8b", "megatron-bridge-26.06")],
)
def test_a_name_without_a_release_is_of_the_kind_of_the_model(model: str, stack: str) -> None:
    job: dict[str, Any] = {
        "ranks": 8, "cluster": "hgx-h200", "global_batch": 8, "stack": "megatron-bridge"
    }  # fmt: skip
    predicted = yantra.predict(model, zero=3, recompute="full", **job)
    assert predicted.result.model.scenario.stack.name.startswith(f"{stack} ")  # type: ignore[union-attr]
    sure = yantra.plan(model, **job).best.sure
    assert sure is not None
    assert f"stack {stack} " in sure.rests_on


@pytest.mark.parametrize("framework", ["TorchTitan", "DeepSpeed", "unknown", "any", "2022"])
def test_a_framework_without_a_stack_is_unknown_with_a_word(framework: str) -> None:
    found = stacks.stack_for(Named(framework, "step.yw"))
    assert found == stacks.load(UNKNOWN).replace(chosen_by=found.chosen_by)
    assert found.chosen_by == f"auto: no stack is shipped of {framework}, named in step.yw"


def test_the_order_of_the_stacks_says_nothing() -> None:
    for said in ("Megatron-LM", "Megatron-Core 2024", "Megatron"):
        named = Named(said, "a job")
        found = {nearest(named, order, "hgx-h100", "bf16") for order in (SHIPPED, SHIPPED[::-1])}
        assert len(found) == 1


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        ("plan: {tp: 2, global_batch_size: 8, bf16: true}", None),
        ("plan: {tp: 2}\nframework: NeMo", "NeMo"),
        ("plan: {tensor_model_parallel_size: 2}", "Megatron-LM"),
        ("plan: {tensor-model-parallel-size: 2}\nframework: NeMo", "NeMo"),
        ("plan: {tensor_parallel_degree: 2}", "TorchTitan"),
        ("plan: {zero_stage: 1}", "DeepSpeed"),
        ("plan: {zero_stage: 1, tensor_model_parallel_size: 2}", "Megatron-DeepSpeed"),
        ("plan: {zero_stage: 1, tensor_parallel_degree: 2}", None),
        ("plan: {no_overlap_p2p_communication: true}", "Megatron-LM"),
    ],
)
def test_a_job_file_names_it_or_has_the_words_of_one(
    text: str, framework: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(f"model: llama3-8b\n{text}\n")
    job = job_file.resolve(job_file.read(path))
    assert job.framework == framework
    job_file.write(tmp_path / "again.yaml", job)
    assert job_file.resolve(job_file.read(tmp_path / "again.yaml")).framework == framework


@pytest.mark.parametrize("framework", ["7", "[NeMo]", "''"])
def test_a_framework_that_is_no_name_is_refused_at_its_key(framework: str, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(f"model: llama3-8b\nframework: {framework}\n")
    with pytest.raises(ConfigError, match=r"job\.yaml: framework: expected the name"):
        job_file.read(path)


def figures(result: Result) -> tuple[Any, ...]:
    found = result.figures
    return found.step_time_ns, found.time_low_ns, found.time_high_ns


@pytest.mark.parametrize(
    ("said", "stack"),
    [(["--framework", "Megatron-LM"], "megatron-2022"), ([], UNKNOWN)],
)
def test_it_is_the_run_with_the_stack_that_it_names_whichever_door(
    said: list[str], stack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = ["--model", "llama3-8b", "--num-layers", "2", "--tp", "2", "--ranks", "8"]
    assert main(["workload", "train", *flags, "-o", "w.yw", *said]) == 0
    expand(load("w.yw"), "et")
    (groups,) = (str(path) for path in Path("et").glob("*.json"))
    name = {"framework": said[1]} if said else {}
    step = {"model": {"name": "llama3-8b", "num_layers": 2}, "plan": {"tp": 2, "ranks": 8}} | name
    doors: dict[str, Any] = {
        "w.yw": "w.yw",
        "the workload": step,
        "et/workload.0.et": {"traces": "et/workload.{rank}.et", "groups": groups},
    }
    for where, workload in doors.items():
        runs = [
            simulate(on_cluster(workload, "dgx-a100-80gb", stack=one)) for one in ("auto", stack)
        ]
        assert len(set(map(figures, runs))) == 1
        why = f"nearest to {said[1]}, named in" if said else "no framework named in"
        assert f"stack {stack} (auto: {why} {where})" in str(runs[0].figures.rests_on)


def test_megatrons_arguments_name_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sizes = "--num-layers 2 --hidden-size 256 --num-attention-heads 4 --seq-length 128"
    more = "--max-position-embeddings 128 --micro-batch-size 1 --global-batch-size 8 --bf16"
    Path("args.txt").write_text(f"{sizes} {more} --vocab-size 1024\n")
    assert main(["workload", "train", "--megatron-args", "args.txt", "-o", "w.yw"]) == 0
    assert load("w.yw").about["framework"] == "Megatron-LM"
    (said,) = [one for one in load("w.yw").sections.items() if one[0] == "about"]
    assert said[1]["plan"]["dtype"] == "bf16"


def test_mixtures_of_experts_have_stacks_of_their_own() -> None:
    tree = """
workload:
  model: {name: mixtral-8x7b, num_layers: 2}
  plan: {ranks: 8, ep: 8, global_batch: 8}
  sequence: 1024
  framework: Megatron-Bridge
cluster: hgx-h100
stack: auto
"""
    scenario = loads(tree)
    assert scenario.stack is not None
    assert str(scenario.stack.name).startswith("megatron-bridge-moe-26.08 ")


def test_a_cluster_of_numbers_has_the_terms_of_other_machines() -> None:
    tree = """
workload: {model: {name: llama3-8b, num_layers: 1}, plan: {ranks: 2}, framework: NeMo}
cluster:
  topology: [{kind: switch, size: 2, bandwidth: 100 GB/s, latency: 1 us}]
  device:
    peak: 100 TFLOP/s
    memory_bandwidth: 1 TB/s
    compute: {kind: measured, options: {gpu: h100_sxm}}
stack: auto
"""
    found = loads(tree).stack
    named = loads(tree.replace("auto", "megatron-bridge-26.06")).stack
    assert found is not None and named is not None
    assert found.replace(name="") == named.replace(name="")
    assert "auto: nearest to NeMo" in str(found.name)


def test_python_takes_it_as_the_command_does() -> None:
    job: dict[str, Any] = {"ranks": 8, "cluster": "dgx-a100-80gb", "sequence": 512}
    said = yantra.predict("gpt3-1.3b", **job, tensor_model_parallel_size=2, stack="auto")
    named = yantra.predict("gpt3-1.3b", **job, tp=2, stack="megatron-2022")
    assert (said.time_s, said.interval_s) == (named.time_s, named.interval_s)
    assert "megatron-2022 (auto: nearest to Megatron-LM" in str(said.rests_on)
    best = yantra.plan("gpt3-1.3b", **job, global_batch=8, stack="auto", top=1).best
    assert best.sure is not None
    assert "unknown (auto: no framework named)" in best.sure.rests_on


def test_it_is_refused_where_there_is_no_job(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("title: mine\nbased_on: auto\n")
    for name, match in (
        ("auto", "expected a name"),
        (str(tmp_path / "mine.yaml"), "based_on: expected a stack with terms"),
    ):
        with pytest.raises(ConfigError, match=match):
            stacks.load(name)
    step = {"model": "llama3-8b", "plan": {"ranks": 8}}
    with pytest.raises(ConfigError, match="change those of the stack that it takes by name"):
        on_cluster(step, "hgx-h100", stack="auto", settings={"stack.rest": 1.1})
    with pytest.raises(ConfigError, match="only with semantics yantra"):
        on_cluster(step, "hgx-h100", stack="auto", semantics="astra-sim")


def test_a_term_that_is_set_beside_a_stack_counts() -> None:
    from yantra.cli.file_options import read_settings

    step = {"model": {"name": "llama3-8b", "num_layers": 1}, "plan": {"ranks": 8, "tp": 8}}
    by_flag = on_cluster(step, "hgx-h100", settings=read_settings(("stack.rest=2.5",), "unknown"))
    assert by_flag.stack is not None and by_flag.stack.rest == 2.5
    assert by_flag.stack.products == stacks.load(UNKNOWN).terms()[1].products.value
