"""Multi-token prediction: its weights, where they are, and what they cost."""

from __future__ import annotations

import numpy as np
import pytest

from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.space import PlanSpace
from yantra.fabric.stacks.choice import DEFAULT
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.workloads.models import zoo
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan.plan import Plan
from yantra.workloads.schedules.layout import layers_of, modules_of
from yantra.workloads.training.train import train

LAYOUT = "Et*4|(t*4|)*14tmL"
"""Megatron-Bridge's for DeepSeek-V3 on two devices."""
OF_A_LAYER = 11.27e9 + 187e6 + 44e6
"""Weights of the experts, latent attention and shared expert of a layer of DeepSeek-V3."""


def model(name: str, modules: int) -> Model:
    described = zoo.get(name)
    assert isinstance(described, Transformer)
    return model_of(described.replace(mtp_num_layers=modules))


def test_a_module_has_a_layer_a_projection_and_three_norms_of_its_own() -> None:
    """DeepSeek-V3's repository: 14 B of weights, with its copies of embedding and head."""
    more = model("deepseek-v3", 1).parameters() - model("deepseek-v3", 0).parameters()
    assert more == pytest.approx(OF_A_LAYER + 2 * 7168**2, rel=0.005)
    assert more + 2 * 129280 * 7168 == pytest.approx(14e9, rel=0.05)


def test_the_last_stage_has_it_with_a_copy_of_the_embedding() -> None:
    plan = Plan(pp=2, vpp=8, dp=32, ep=32, zero=1, global_batch=64, stage_layers=LAYOUT)
    usual, more = (train(model("deepseek-v3", count), plan, 4096) for count in (0, 1))
    first, last = (
        more.sections["memory"][stage]["weights"] - usual.sections["memory"][stage]["weights"]
        for stage in ("stage0", "stage1")
    )
    own = 11.27e9 / 32 + 187e6 + 44e6 + 2 * 7168**2 + 129280 * 7168
    assert first == 0
    assert last == pytest.approx(2 * own, rel=0.005)
    assert "embedding" in more.groups
    assert "embedding" not in usual.groups


def test_one_device_holds_the_embedding_once() -> None:
    plan = Plan(dp=8, ep=8, global_batch=8)
    usual, more = (
        train(model("deepseek-v2-lite", count), plan).sections["memory"]["stage0"]["weights"]
        for count in (0, 1)
    )
    layer = 3 * 2048 * 1408 * 8 + 3 * 2048 * 2816
    assert more - usual < 2 * (layer + 2 * 2048**2 + 102400 * 2048)


def test_a_layout_names_its_layers() -> None:
    assert layers_of(LAYOUT) == (4,) * 15 + (1,)
    assert modules_of(LAYOUT) == 1
    assert layers_of("E(t*2|(t|)*2)*2tm*2L") == (2, 1, 1, 2, 1, 1, 1)


def test_the_closed_form_has_it() -> None:
    described = model("deepseek-v2-lite", 1)
    space = PlanSpace(
        ranks=16, global_batch=32, most_tp=8, sequence=1024, zero=(0, 1), gradient_dtype=("bf16",)
    )
    columns = space.columns(described)
    form = ClosedForm(described, Machine("hgx-h100", 16, stack=DEFAULT), 1024)
    judged = form.judge(columns, space.global_batch)
    rows = np.random.default_rng(7).permutation(len(columns["tp"]))[:5]
    error = []
    for row in rows.tolist():
        workload = train(described, space.plan(columns, row), 1024)
        parts = parts_for("hgx-h100", 16, "bf16")
        ran = simulate(Scenario(workload=Templates(workload=workload), **parts)).makespan_ns
        error.append(abs(judged.time_ns[row] / ran - 1))
        most = max(stage["peak"] for stage in workload.sections["memory"].values())
        assert judged.memory_bytes[row] == pytest.approx(most, rel=0.03)
    assert np.median(error) < 0.02
