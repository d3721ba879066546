"""The recorded counts of transformers are those of the shared golden set, where it is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from yantra.workloads.models import zoo

ROOT = Path(os.environ.get("YANTRA_GOLDEN", Path(__file__).parents[3] / "shared" / "golden"))
SHARED = ROOT / "workloads" / "closed_form.json"
RECORDED = Path(__file__).parents[1] / "workloads" / "data" / "transformer_counts.json"
COUNTS = {
    "parameters": "params_total",
    "active_parameters": "params_active",
    "kv_bytes_per_token": "kv_bytes_per_token_bf16",
    "forward_flops_exact": "fwd_flops_1seq_exact_causal",
    "forward_flops_full": "fwd_flops_1seq_noncausal",
    "train_flops_megatron": "train_flops_1seq_megatron",
}
SIZES = ("hidden_size", "num_layers", "num_attention_heads", "ffn_hidden_size", "vocab_size")


@pytest.fixture(scope="module")
def shared() -> dict[str, dict[str, dict[str, float]]]:
    if not SHARED.exists():
        pytest.skip("the golden sets are not here")
    forms: dict[str, dict[str, dict[str, float]]] = json.loads(SHARED.read_text(encoding="utf-8"))
    return forms


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict[str, dict[str, int]]]:
    counts: dict[str, dict[str, dict[str, int]]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return counts


def test_the_counts_are_the_shared_ones(
    shared: dict[str, dict[str, dict[str, float]]], recorded: dict[str, dict[str, dict[str, int]]]
) -> None:
    assert recorded["models"].keys() == shared["models"].keys()
    for name, model in recorded["models"].items():
        for ours, theirs in COUNTS.items():
            assert model[ours] == shared["models"][name][theirs], (name, ours)


def test_the_activations_are_the_shared_ones(
    shared: dict[str, dict[str, dict[str, float]]], recorded: dict[str, dict[str, dict[str, int]]]
) -> None:
    assert recorded["activations"].keys() == shared["activations"].keys()
    for name, sizes in shared["activations"].items():
        for kind, count in sizes.items():
            if kind != "5as/h":
                assert recorded["activations"][name][kind] == round(count), (name, kind)


def test_the_known_models_have_the_shared_sizes(
    shared: dict[str, dict[str, dict[str, float]]],
) -> None:
    for name, entry in shared["models"].items():
        model, config = zoo.get(name), entry["config"]
        assert isinstance(config, dict)
        for size in SIZES:
            assert getattr(model, size) == config[size], (name, size)
        assert model.num_query_groups == config.get("num_query_groups", model.num_attention_heads)
        assert model.num_experts == config.get("num_experts", 0)
        assert model.moe_router_topk == config.get("topk", 0)
        assert model.moe_ffn_hidden_size == config.get("moe_ffn", 0)
        assert model.tie_word_embeddings == bool(config["tie"])
