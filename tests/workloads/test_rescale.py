"""A rescaled step is the one made at the new setting; what is not determined is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.chakra import NodeType, Trace
from yantra.cli import main
from yantra.workloads.models import catalogue
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan.plan import Plan
from yantra.workloads.rescale import rescale, solved
from yantra.workloads.templates import Workload, load
from yantra.workloads.training.train import train


def step(
    name: str, layers: int = 4, sequence: int = 256, width: float = 1, **plan: int
) -> Workload:
    model = catalogue.described(name)
    if isinstance(model, Transformer):
        sizes = ("hidden_size", "ffn_hidden_size", "num_attention_heads", "num_query_groups")
        wide = {size: int(getattr(model, size) * width) for size in sizes}
        model = model.replace(num_layers=layers, **model.patterns(layers), **wide)
    else:
        model = model.replace(layers=model.layers[:layers])
    batch = {"global_batch": plan.pop("micro_batches", 2) * plan.get("dp", 1)}
    return train(model_of(model), Plan.of({**plan, **batch}), sequence)


def with_times(workload: Workload, per_operation: float) -> Workload:
    templates = {}
    for name in workload.templates:
        nodes = list(workload.template(name))
        for node in nodes:
            if node.type == NodeType.COMP:
                node.duration_micros = round(int(str(node["num_ops"])) * per_operation)
        templates[name] = Trace(nodes, workload.template(name).metadata)
    about = {"about": workload.about}
    grids, groups, classes = workload.grids, workload.groups, workload.classes
    return Workload(
        grids=grids, groups=groups, classes=classes, templates=templates, sections=about
    )


@pytest.mark.parametrize(
    ("name", "old", "settings", "new"),
    [
        ("llama3-8b", {"tp": 2, "dp": 2, "zero": 1}, ["dp=x2", "tp=x0.5"], {"dp": 4, "zero": 1}),
        ("llama3-8b", {"pp": 2}, ["pp=4", "layers=x2"], {"pp": 4, "layers": 8}),
        ("gpt3-1.3b", {"tp": 2}, ["micro_batches=x2", "sequence=512"],
         {"tp": 2, "micro_batches": 4, "sequence": 512}),
        ("llama2-7b", {"dp": 2, "zero": 3}, ["width=x0.5"], {"dp": 2, "zero": 3, "width": 0.5}),
        ("mixtral-8x7b", {"dp": 4, "ep": 2}, ["ep=4"], {"dp": 4, "ep": 4}),
        ("deepseek-v2-lite", {"dp": 4, "ep": 2}, ["ep=4", "layers=x2"],
         {"dp": 4, "ep": 4, "layers": 8}),
        ("mamba2-2.7b", {"dp": 2}, ["layers=6", "dp=1"], {"layers": 6}),
    ],
)  # fmt: skip
def test_a_rescaled_step_is_the_one_made_so(
    name: str, old: dict[str, Any], settings: list[str], new: dict[str, Any]
) -> None:
    found, truth = rescale(step(name, **old), settings).workload, step(name, **new)
    assert (found.grids, found.groups, found.classes) == (truth.grids, truth.groups, truth.classes)
    for template in truth.templates:
        assert found.template_bytes(template) == truth.template_bytes(template)


def test_recorded_times_follow_the_work_of_their_operator() -> None:
    old = with_times(step("llama3-8b", tp=2), 1e-6)
    found = rescale(old, ["tp=1"]).workload
    truth = with_times(step("llama3-8b"), 1e-6)
    for template in truth.templates:
        pairs = zip(found.template(template), truth.template(template), strict=True)
        for one, other in pairs:
            assert one.duration_micros == pytest.approx(other.duration_micros, rel=1e-3, abs=2)


def test_what_is_not_determined_is_refused() -> None:
    made = step("llama3-8b")
    nodes = list(made.template("stage0"))
    nodes[5].set("num_ops", 7)
    parts = {"grids": made.grids, "groups": made.groups, "classes": made.classes}
    other = {"stage0": Trace(nodes, made.template("stage0").metadata)}
    with pytest.raises(UnsupportedError, match="is not as expected"):
        solved(Workload(**parts, templates=other, sections={"about": made.about}))
    with pytest.raises(UnsupportedError, match="--replicate"):
        solved(Workload(**parts, templates=other, sections={"about": {"recorded": "k.json"}}))


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("layer=2", "did you mean 'layers'"),
        ("tp=x0.3", "a whole number"),
        ("tp=two", "x and a factor"),
        ("tp=3", "tp"),
    ],
)
def test_wrong_settings_are_told(setting: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        rescale(step("llama3-8b"), [setting])


def test_the_command_writes_a_workload_and_says_what_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job, new = str(tmp_path / "job.yw"), str(tmp_path / "new.yw")
    step("llama3-8b", tp=2).save(job)
    assert main(["trace", "rescale", job, "--set", "dp=4", "-o", new]) == 0
    said = capsys.readouterr().out
    assert "2 ranks -> 8: dp=4" in said and "2 micro-batches a rank, tp 2" in said
    assert load(new).ranks == 8
    assert main(["trace", "rescale", job, "-o", new]) == 2
    assert "nothing is changed" in capsys.readouterr().err
