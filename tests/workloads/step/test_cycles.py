"""Making a step leaves nothing that only a search for cycles would free."""

from __future__ import annotations

import gc

import pytest

from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

PLANS = {
    "one device": ("gpt3-13b", Plan(tp=2, dp=2, global_batch=8, zero=1)),
    "interleaved": ("gpt3-13b", Plan(pp=2, vpp=2, schedule="interleaved", global_batch=8)),
    "sharded weights": ("gpt3-13b", Plan(pp=2, dp=2, zero=3, global_batch=8)),
    "passes that overlap": ("gpt3-13b", Plan(pp=2, schedule="dualpipev", vpp=2, global_batch=8)),
    "skewed experts": ("mixtral-8x7b", Plan(dp=2, ep=2, routing="zipf:1", global_batch=8)),
}


@pytest.mark.parametrize("what", PLANS)
def test_making_a_step_leaves_no_cycles(what: str) -> None:
    train(*PLANS[what])  # what is imported and kept for good comes with the first
    gc.freeze()
    gc.disable()
    try:
        made = train(*PLANS[what])
        assert made.templates
        del made
        assert gc.collect() == 0
    finally:
        gc.enable()
