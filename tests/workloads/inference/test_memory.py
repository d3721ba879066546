"""Weights, cache and activations of a rank, and what fits."""

from __future__ import annotations

import re
from itertools import product

import pytest

from tests.oracles import transformer_forms as forms
from tests.workloads.inference.jobs import DENSE, LATENT, TRANSFORMERS, known, made
from yantra.base.errors import ConfigError
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.serving import InferencePlan
from yantra.workloads.serving.kv_cache import layer_caches, sequences_bytes, token_bytes


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_token_leaves_the_bytes_of_the_closed_form(name: str) -> None:
    """2 L g d w over all ranks, at least a head on each; latent rows whole on every rank."""
    t = known(name)
    caches = [one for layer in model_of(t).layers for one in layer_caches(layer, "bf16")]
    assert token_bytes(caches, 1) == forms.kv_bytes_per_token(t)
    for tp in (2, 8, 16):
        split = 1 if t.kv_lora_rank else min(tp, t.num_query_groups)
        if max(tp, t.num_query_groups) % min(tp, t.num_query_groups) == 0:
            assert token_bytes(caches, tp) * split == forms.kv_bytes_per_token(t)


@pytest.mark.parametrize("t", [DENSE, LATENT], ids=lambda t: t.name)
def test_weights_of_all_ranks_are_the_parameters(t: Transformer) -> None:
    for pp, ep in product((1, 2), (1, 4) if t.num_experts else (1,)):
        plan = InferencePlan(pp=pp, ep=ep)
        weights = [
            made(t, plan, phase=phase, batch=4).memory[f"stage{stage}"]["weights"]
            for phase in ("prefill", "decode")
            for stage in range(pp)
        ]
        assert weights[:pp] == weights[pp:]
        routed = sum(t.moe_layer_freq) * t.num_experts * 3 * t.hidden_size * t.moe_ffn_hidden_size
        assert sum(weights[:pp]) == 2 * (forms.parameters(t) - routed + routed // ep)


def test_narrow_types_take_fewer_bytes() -> None:
    job = {"phase": "decode", "batch": 4, "context": 31}
    wide, narrow, tiny = (
        made(DENSE, InferencePlan(weight_dtype=weight, kv_cache_dtype=cache), **job)
        for weight, cache in (("bf16", "bf16"), ("fp8", "fp8"), ("fp4", "fp8"))
    )
    for part in ("weights", "cache"):
        assert wide.memory["stage0"][part] == 2 * narrow.memory["stage0"][part]
    assert wide.memory["stage0"]["weights"] == 4 * tiny.memory["stage0"]["weights"]


def test_sequences_take_whole_blocks_and_no_more_than_their_window() -> None:
    windowed = DENSE.replace(window_size=40, window_attn_skip_freq=(1, 0, 1, 0))
    caches = [one for layer in model_of(windowed).layers for one in layer_caches(layer, "bf16")]
    per_layer = forms.kv_bytes_per_token(DENSE) // 4
    assert sequences_bytes(caches, [17], 1, 16) == 4 * 32 * per_layer
    assert sequences_bytes(caches, [100], 1, 16) == (2 * 48 + 2 * 112) * per_layer


def test_what_does_not_fit_is_refused_with_the_batch_that_does() -> None:
    job = {"phase": "decode", "context": 1000, "plan": InferencePlan(dp=2)}
    capacity = 64 * 2**20
    with pytest.raises(ConfigError, match="nearest that fits") as caught:
        made(DENSE, batch=100, memory_bytes=capacity, **job)
    found = re.search("batch ([0-9]+) instead of 100", str(caught.value))
    assert found
    fits = int(found[1])
    room = made(DENSE, batch=fits, memory_bytes=capacity, **job)
    assert room.memory["stage0"]["peak"] <= 0.9 * capacity
    assert fits <= room.about["fitting_batch"]
    more = room.about["fitting_batch"] + 2
    with pytest.raises(ConfigError, match="instead of"):
        made(DENSE, batch=more, memory_bytes=capacity, **job)


def test_blocks_are_what_weights_and_activations_leave() -> None:
    capacity = 64 * 2**20
    work = made(DENSE, phase="decode", batch=2, context=100, memory_bytes=capacity)
    part = work.memory["stage0"]
    free = int(0.9 * capacity) - part["weights"] - part["activations"]
    assert work.about["cache_blocks"] == free // (16 * forms.kv_bytes_per_token(DENSE))


def test_a_model_that_is_too_large_alone_is_told_so() -> None:
    with pytest.raises(ConfigError, match="no batch fits; use more ranks"):
        made(DENSE, phase="decode", memory_bytes=2**20)


def test_the_peak_of_activations_holds_the_widest_moment() -> None:
    work = made(DENSE, phase="prefill", batch=2, prompt=128)
    tokens, h = 2 * 128, DENSE.hidden_size
    widest = 2 * tokens * (h + 3 * DENSE.ffn_hidden_size)
    assert work.memory["stage0"]["activations"] == widest
