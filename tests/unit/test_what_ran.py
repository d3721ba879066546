"""What ran, in words: the plan's choices and the load of each kind of job."""

from __future__ import annotations

from typing import Any

import pytest

from yantra.result.what_ran import _load, _plans

TRAINING = {"kind": "training", "sequence": 4096, "plan": {"global_batch": 32}}
PREFILL = {"kind": "inference", "phase": "prefill", "batch": 4, "prompt": 512}
DECODE = {"kind": "inference", "phase": "decode", "batch": 4, "context": 512}
MIXED = {**DECODE, "phase": "mixed", "prompts": 2, "prompt": 64}


@pytest.mark.parametrize(
    ("about", "text"),
    [
        (TRAINING, "32 x 4096 tokens"),
        ({**TRAINING, "plan": {"global_batch": 32, "steps": 1}}, "32 x 4096 tokens"),
        ({**TRAINING, "plan": {"global_batch": 32, "steps": 2}}, "2 steps of 32 x 4096 tokens"),
        ({**TRAINING, "sequence": 0}, None),
        ({**TRAINING, "plan": {}}, None),
        (PREFILL, "4 x 512 tokens"),
        ({**PREFILL, "context": 100}, "4 x 512 tokens after 100"),
        ({**PREFILL, "prompt": 0}, None),
        ({**PREFILL, "batch": 0}, None),
        (DECODE, "4 sequences after 512 tokens"),
        ({**DECODE, "context": 0}, None),
        (MIXED, "4 sequences and 2 prompts of 64 tokens"),
        ({**MIXED, "prompts": 0}, "4 sequences and 0 prompts of 64 tokens"),
        ({}, None),
    ],
)
def test_a_load_is_told_by_its_kind(about: dict[str, Any], text: str | None) -> None:
    assert _load(about) == text


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        ({"tp": 1, "dp": 1}, "one device"),
        ({"tp": 2, "cp": 1, "pp": 4, "dp": 3}, "tp 2, pp 4, dp 3"),
        ({"dp": 2, "zero": 1}, "dp 2, zero 1"),
        ({"dp": 2, "zero": 0, "lora_rank": 8}, "dp 2, lora 8"),
        ({"pp": 2, "schedule": "1f1b"}, "pp 2, 1f1b"),
        ({"pp": 1, "dp": 2, "schedule": "1f1b"}, "dp 2"),
        ({"dp": 2, "recompute": "full"}, "dp 2, recompute full"),
        ({"dp": 2, "recompute": "none"}, "dp 2"),
    ],
)
def test_a_plan_is_told_by_what_it_splits(plan: dict[str, Any], text: str) -> None:
    assert _plans({"plan": plan}) == text


def test_the_two_plans_of_a_job_are_told_and_none_of_a_job_without() -> None:
    assert _plans({"prefill_plan": {"tp": 2}, "decode_plan": {"tp": 4}}) == "tp 2 and tp 4"
    assert _plans({}) is None
