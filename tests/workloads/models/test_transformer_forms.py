"""The closed forms give the published counts of every known transformer, as whole numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracles import transformer_forms as forms
from yantra.workloads.models import zoo

COUNTS = json.loads(
    (Path(__file__).parents[1] / "data" / "transformer_counts.json").read_text(encoding="utf-8")
)
PUBLISHED = {  # billions: total, active (None: all)
    "llama2-7b": (6.738, None),  # meta-llama model cards
    "llama2-13b": (13.016, None),
    "llama2-70b": (68.977, None),
    "llama3-8b": (8.030, None),
    "llama3-70b": (70.554, None),
    "llama3-405b": (405.853, None),
    "gpt3-175b": (174.604, None),  # table 2.1 of the paper: 174,600 M
    "gpt3-13b": (12.85, None),
    "gpt3-1.3b": (1.320, None),
    "gpt-530b": (529.6, None),  # table 3 of Korthikanti et al.
    "gpt-1t": (1008.0, None),
    "mixtral-8x7b": (46.703, 12.880),  # the paper: 47 B and 13 B
    "mixtral-8x22b": (140.6, 39.2),  # the announcement: 141 B and 39 B
    "qwen3-32b": (32.8, None),  # the report: 32.8 B; 30.5 B and 3.3 B; 235 B and 22 B
    "qwen3-30b-a3b": (30.5, 3.35),
    "qwen3-235b-a22b": (235.1, 22.2),
    "deepseek-v2": (235.7, 21.4),  # the paper: 236 B and 21 B
    "deepseek-v2-lite": (15.7, 2.66),  # the paper: 15.7 B; its 2.4 B leaves out the embedding
    "deepseek-v3": (671.0, 37.6),  # the paper: 671 B and 37 B
}


@pytest.mark.parametrize("name", COUNTS["models"])
def test_the_closed_forms_equal_the_recorded_counts(name: str) -> None:
    model, counts = zoo.get(name), COUNTS["models"][name]
    sequence = counts["sequence"]
    assert forms.parameters(model) == counts["parameters"]
    assert forms.active_parameters(model) == counts["active_parameters"]
    assert forms.kv_bytes_per_token(model) == counts["kv_bytes_per_token"]
    assert forms.forward_flops(model, sequence, "exact") == counts["forward_flops_exact"]
    assert forms.forward_flops(model, sequence, "full") == counts["forward_flops_full"]
    assert forms.train_flops(model, sequence, "megatron") == counts["train_flops_megatron"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_known_model_has_the_published_size(name: str) -> None:
    model, (total, active) = zoo.get(name), PUBLISHED[name]
    assert forms.parameters(model) == pytest.approx(total * 1e9, rel=5e-3)
    of_a_token = total if active is None else active
    assert forms.active_parameters(model) == pytest.approx(of_a_token * 1e9, rel=5e-3)


@pytest.mark.parametrize("size", COUNTS["activations"])
def test_the_bytes_kept_for_backward_equal_the_recorded_ones(size: str) -> None:
    recorded: dict[str, Any] = COUNTS["activations"][size]
    s, b, h, a = (recorded[key] for key in ("sequence", "micro_batch", "hidden", "heads"))
    t = recorded["split"]
    assert forms.activation_bytes(s, b, h, a) == recorded["none"]
    assert forms.activation_bytes(s, b, h, a, t) == recorded["tp"]
    assert forms.activation_bytes(s, b, h, a, t, True) == recorded["tp_sp"]
    assert forms.activation_bytes(s, b, h, a, t, False, "selective") == recorded["tp_selective"]
    assert forms.activation_bytes(s, b, h, a, t, True, "selective") == recorded["tp_sp_selective"]
    assert forms.activation_bytes(s, b, h, a, t, recompute="full") == recorded["full"]


def test_a_causal_mask_leaves_the_pairs_that_counting_them_gives() -> None:
    for sequence in (1, 5, 8):
        for window in (0, 1, 3, 8, 20):
            seen = sum(
                not window or query - key < window
                for query in range(sequence)
                for key in range(query + 1)
            )
            assert forms.pairs(sequence, window) == seen
