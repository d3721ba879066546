"""Activations of some modules that wait in the host's memory."""

from __future__ import annotations

import pytest

from yantra.base.errors import ConfigError
from yantra.workloads.models.catalogue import find
from yantra.workloads.operators.offloaded import offloaded_of
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.stage import Chunk, setting_of, stage_work
from yantra.workloads.training.train import train

DENSE = ("attn_norm", "qkv_linear", "core_attn", "attn_proj", "mlp_norm")
EXPERT = ("expert_fc1", "moe_act")
TOKENS = 512


def waiting(name: str, plan: Plan) -> dict[str, int]:
    work = stage_work(find(name), plan, layers=(3, 9), front=False, tail=False, sequence=TOKENS)
    return dict(work.waits)


def test_a_layer_offloads_what_its_modules_save() -> None:
    """Llama 3 8B: width 4096, 32 heads, keys and values of 1024, an fp32 number a row and head."""
    of = {
        "attn_norm": 2 * 4096,
        "qkv_linear": 2 * 4096,
        "core_attn": 2 * (4096 + 2 * 1024) + 4 * 32,
        "core_attn,attn_proj": 2 * (2 * 4096 + 2 * 1024) + 4 * 32,
        "mlp_norm": 2 * 4096,
    }
    for modules, a_token in of.items():
        plan = Plan(offload_modules=modules)
        assert waiting("llama3-8b", plan) == {
            f"layers.{at}": TOKENS * a_token for at in range(3, 9)
        }
    rows = 8 * 2 * 2048, 8 * 2 * 2 * 768  # of 8 chosen experts: width 2048, gate and up of 768
    for module, a_token in zip(EXPERT, rows, strict=True):
        found = waiting("qwen3-30b-a3b", Plan(ep=8, dp=8, offload_modules=module))
        assert set(found.values()) == {TOKENS * a_token}


@pytest.mark.parametrize("recompute", ["none", "selective", "operators"])
@pytest.mark.parametrize("tp", [1, 2])
def test_all_modules_free_what_they_save_and_no_more_than_all(recompute: str, tp: int) -> None:
    for name, modules in (("llama3-8b", DENSE), ("deepseek-v2-lite", (*DENSE, *EXPERT))):
        ep = 4 if modules != DENSE else 1
        plan = Plan(tp=tp, ep=ep, dp=4, pp=2, global_batch=16, recompute=recompute)
        none, some, every = (
            train(name, plan.replace(**more), TOKENS).sections["memory"]["stage0"]
            for more in ({}, {"offload_modules": ",".join(modules)}, {"offload_activations": True})
        )
        waits = some["offloaded"]["activations"]
        assert 0 < waits <= every["offloaded"]["activations"]
        assert every["activations"] <= some["activations"] < none["activations"]
        assert none["activations"] - some["activations"] <= waits


def test_modules_together_free_at_least_each_alone() -> None:
    alone = sum(
        next(iter(waiting("llama3-8b", Plan(offload_modules=one)).values()))
        for one in DENSE
        if one != "attn_proj"
    )
    together = waiting("llama3-8b", Plan(offload_modules=",".join(DENSE)))["layers.3"]
    assert together == alone + TOKENS * 2 * 4096  # what attention gives, which two modules save


def test_copied_layers_wait_as_built_ones() -> None:
    model = find("llama3-8b")
    plan = Plan(tp=2, recompute="selective", offload_modules="core_attn,attn_proj,attn_norm")
    built = Chunk(model, setting_of(plan, TOKENS), (3, 12), front=False, tail=True).work()
    copied = stage_work(model, plan, layers=(3, 12), front=False, tail=True, sequence=TOKENS)
    assert built.waits == copied.waits and built.waits


def test_modules_are_named() -> None:
    assert offloaded_of(["core_attn", "moe_act"]) == offloaded_of("core_attn moe_act")
    assert Plan(offload_modules="none") == Plan()
    with pytest.raises(ConfigError, match="offload_modules: expected one of none, attn_norm"):
        Plan(offload_modules="attention")
    for plan, reason in (
        (Plan(offload_modules="attn_proj"), "core_attn needs what attn_proj saves"),
        (Plan(offload_modules="core_attn", offload_activations=True), "leave out one"),
        (Plan(offload_modules="core_attn", recompute="full"), "keeps layers' inputs alone"),
        (Plan(offload_modules="moe_act"), "has no moe_act"),
    ):
        with pytest.raises(ConfigError, match=reason):
            train("llama3-8b", plan, TOKENS)


def test_layers_of_modules() -> None:
    plan = Plan(offload_modules="core_attn", offload_layers=2)
    assert not plan.offload_activations
    two, every = (
        train("llama3-8b", one, TOKENS).sections["memory"]["stage0"]["offloaded"]["activations"]
        for one in (plan, plan.replace(offload_layers=None))
    )
    assert every == 16 * two
