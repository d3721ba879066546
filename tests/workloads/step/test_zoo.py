"""Training steps of the known models run to their ends on 8 to 16 ranks in both semantics."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workloads.step.test_simulation import runs_within_its_bounds
from yantra.workloads.models import catalogue
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

PLANS: dict[str, dict[str, Any]] = {
    "1f1b": {"tp": 2, "pp": 2, "dp": 2, "zero": 1, "global_batch": 8},
    "zb-v": {"tp": 2, "pp": 2, "vpp": 2, "dp": 2, "global_batch": 8, "schedule": "zb-v"},
    "fsdp": {"dp": 16, "zero": 3, "global_batch": 16, "recompute": "full"},
    "context": {"tp": 2, "cp": 2, "pp": 2, "dp": 2, "zero": 1, "global_batch": 8},
    "dualpipe": {"tp": 2, "pp": 4, "dp": 2, "zero": 1, "global_batch": 16, "schedule": "dualpipe"},
}
QUICK = [
    ("llama3-8b", "1f1b", "yantra"),
    ("gpt3-1.3b", "context", "astra-sim"),
    ("deepseek-v2-lite", "dualpipe", "astra-sim"),
    ("qwen3-30b-a3b", "zb-v", "yantra"),
    ("mixtral-8x7b", "fsdp", "astra-sim"),
]


def run(name: str, plan: str, semantics: str) -> None:
    model = catalogue.find(name)
    if not hasattr(model.layers[-1], "attention"):
        pytest.skip("not a transformer: its blocks decide which axes it has")
    ep = 2 if hasattr(getattr(model.layers[-1], "mlp", None), "experts") else 1
    runs_within_its_bounds(train(model, Plan(**PLANS[plan], ep=ep)), semantics)


@pytest.mark.parametrize(("name", "plan", "semantics"), QUICK)
def test_a_step_of_a_known_model_runs_to_its_end(name: str, plan: str, semantics: str) -> None:
    run(name, plan, semantics)


@pytest.mark.slow
@pytest.mark.parametrize("semantics", ["astra-sim", "yantra"])
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", catalogue.names())
def test_a_step_of_every_known_model_runs_to_its_end(name: str, plan: str, semantics: str) -> None:
    run(name, plan, semantics)
