"""What inference computes and reads equals the closed forms, as whole numbers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import transformer_forms as forms
from tests.workloads.inference.jobs import (
    DENSE,
    LATENT,
    TRANSFORMERS,
    known,
    made,
    nodes,
    products,
    total,
)
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.operators.graph import Batch, Sequences
from yantra.workloads.operators.operations import Operation
from yantra.workloads.serving import InferencePlan
from yantra.workloads.serving.stages import Stages


def one_pass(t: Transformer, *groups: Sequences) -> tuple[Operation, ...]:
    stages = Stages(model_of(t), InferencePlan())
    return stages.of(0, Batch(groups, all_logits=False)).forward.operations


def head(t: Transformer, tokens: int) -> int:
    return 2 * tokens * t.hidden_size * t.vocab_size


def prefill_flops(t: Transformer, tokens: int, sequences: int = 1) -> int:
    without_head = forms.forward_flops(t, tokens) - head(t, tokens)
    return sequences * without_head + head(t, sequences)


def decode_flops(t: Transformer, past: int, sequences: int) -> int:
    """One token each: all products of a token, and its pairs with past + 1 keys."""
    total = head(t, sequences)
    for layer in range(t.num_layers):
        pairs = past + 1
        if t.window(layer):
            pairs = min(pairs, t.window(layer))
        per_pair = 4 * t.kv_channels
        if t.kv_lora_rank:
            per_pair = 2 * (2 * t.kv_lora_rank + t.qk_pos_emb_head_dim)
        products = forms.layer(t, layer).products
        total += sequences * (2 * products + t.num_attention_heads * per_pair * pairs)
    return total


def cached_bytes(t: Transformer, past: int, sequences: int) -> int:
    total = 0
    for layer in range(t.num_layers):
        held = min(past, t.window(layer) - 1) if t.window(layer) else past
        row = 2 * t.num_query_groups * t.kv_channels
        if t.kv_lora_rank:
            row = t.kv_lora_rank + t.qk_pos_emb_head_dim
        total += sequences * held * 2 * row
    return total


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_the_operations_of_a_prefill_are_those_of_the_closed_form(name: str) -> None:
    t = known(name)
    operations = one_pass(t, Sequences(3, 1024))
    assert sum(one.tensor_flops for one in operations) == prefill_flops(t, 1024, 3)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_decode_computes_and_reads_what_the_closed_forms_say(name: str) -> None:
    t, past, batch = known(name), 1000, 4
    operations = one_pass(t, Sequences(batch, 1, past))
    assert sum(one.tensor_flops for one in operations) == decode_flops(t, past, batch)
    width = t.kv_channels * t.num_attention_heads
    new = 2 * batch * (width + 2 * t.num_query_groups * t.kv_channels)
    if t.kv_lora_rank:
        row = t.kv_lora_rank + t.qk_pos_emb_head_dim
        new = 2 * batch * row * (t.num_attention_heads + 1)
    read = sum(one.bytes_read for one in operations if one.kind == "attention")
    assert read - t.num_layers * new == cached_bytes(t, past, batch)
    written = sum(one.bytes_written for one in operations if one.kind == "cache")
    assert written == batch * forms.kv_bytes_per_token(t)


@given(st.lists(st.integers(2, 40), min_size=1, max_size=5), st.sampled_from((0, 7, 50)))
@settings(max_examples=12, deadline=None)
def test_the_chunks_of_a_prompt_add_up_to_its_prefill(chunks: list[int], window: int) -> None:
    for t in (DENSE.replace(window_size=window), LATENT):
        past = computed = expanded = 0
        for chunk in chunks:
            is_last = past + chunk == sum(chunks)
            operations = one_pass(t, Sequences(1, chunk, past, is_last))
            computed += sum(operation.tensor_flops for operation in operations)
            width = t.num_attention_heads * (t.qk_head_dim + t.v_head_dim)
            expanded += 2 * past * t.kv_lora_rank * width * t.num_layers
            past += chunk
        assert computed == prefill_flops(t, past) + expanded


def test_chunks_of_a_whole_workload_add_up_too() -> None:
    whole = made(DENSE, phase="prefill", batch=2, prompt=96)
    parts = made(DENSE, phase="prefill", batch=2, prompt=96, max_num_batched_tokens=40)
    assert products(parts) == products(whole)
    assert parts.about["iterations"] == 5
    assert parts.about["tokens"] == whole.about["tokens"] == 2 * 96


PLANS = [
    InferencePlan(tp=tp, pp=pp, dp=dp, ep=ep, etp=etp, sequence_parallel=sp)
    for tp, pp, dp, ep, etp, sp in (
        (2, 1, 1, 1, None, False),
        (4, 2, 1, 1, None, False),
        (4, 1, 2, 1, None, True),
        (1, 4, 2, 1, None, False),
        (2, 1, 1, 2, None, False),
        (4, 1, 1, 2, 2, False),
        (2, 2, 2, 4, None, False),
        (2, 1, 4, 2, 2, False),
        (1, 1, 4, 4, None, False),
        (2, 1, 2, 4, None, True),
        (1, 1, 2, 1, 2, False),
    )
]


@pytest.mark.parametrize("phase", ["prefill", "decode"])
@pytest.mark.parametrize(
    "t, plan",
    [
        pytest.param(t, plan, id=f"{t.name}-{number}")
        for number, plan in enumerate(PLANS)
        for t in (DENSE, LATENT)
        if t.num_experts or (not plan.exchanges and plan.ep == 1)
    ],
)
def test_the_operations_of_all_ranks_depend_on_no_plan(
    t: Transformer, plan: InferencePlan, phase: str
) -> None:
    batch, prompt = 8, 64
    alone = products(made(t, phase=phase, batch=batch, prompt=prompt, context=32))
    work = made(t, plan, phase=phase, batch=batch, prompt=prompt, context=32)
    tokens = batch * (prompt if phase == "prefill" else 1)
    down = t.hidden_size * (t.q_lora_rank + t.kv_lora_rank + t.qk_pos_emb_head_dim)
    again = 2 * tokens * down * t.num_layers if t.kv_lora_rank else 0
    if not plan.exchanges:
        again += 2 * tokens * t.hidden_size * t.num_experts * sum(t.moe_layer_freq)
    extra = 0 if plan.sequence_parallel else (plan.tp - 1) * again
    assert products(work) == alone + extra


def test_copies_of_key_value_heads_are_computed_on_every_rank_that_has_one() -> None:
    plan = InferencePlan(tp=8)
    work = made(DENSE, plan, phase="decode", batch=8, context=32)
    alone = made(DENSE, phase="decode", batch=8, context=32)
    one_head = 2 * 8 * DENSE.hidden_size * 2 * DENSE.kv_channels
    assert products(work) - products(alone) == DENSE.num_layers * 4 * one_head
    assert total(work, "bytes_written", "cache") == 2 * total(alone, "bytes_written", "cache")


def test_the_head_runs_only_for_sequences_that_emit_a_token() -> None:
    work = made(
        DENSE, phase="mixed", batch=4, context=10, prompts=1, prompt=40, max_num_batched_tokens=20
    )
    rows = [node.flops_tensor for node, _ in nodes(work) if node.name == "head.logits"]
    one = head(DENSE, 1)
    assert rows == [4 * one, 4 * one, 5 * one]
    alone = made(DENSE, phase="prefill", batch=1, prompt=40, max_num_batched_tokens=20)
    assert sum(node.name == "head.logits" for node, _ in nodes(alone)) == 1


@pytest.mark.parametrize("window", [0, 1, 20, 200])
@pytest.mark.parametrize("dtype, width", [("bf16", 2), ("fp8", 1)])
def test_a_window_and_the_type_of_the_cache_limit_what_is_read(
    window: int, dtype: str, width: int
) -> None:
    t = DENSE.replace(window_size=window)
    plan = InferencePlan(kv_cache_dtype=dtype)
    read = [
        total(made(t, plan, phase="decode", batch=3, context=past), "bytes_read", "attention")
        for past in (1, 100)
    ]
    more = cached_bytes(t, 100, 3) - cached_bytes(t, 1, 3)
    assert read[1] - read[0] == more * width // 2
