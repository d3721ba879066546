"""The operator graph of a transformer has the weights and costs of the closed forms, exactly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import transformer_forms as forms
from yantra.base.errors import ConfigError
from yantra.workloads.models import zoo
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.blocks import MLP
from yantra.workloads.models.transformer import Transformer

COUNTS = json.loads(
    (Path(__file__).parents[1] / "data" / "transformer_counts.json").read_text(encoding="utf-8")
)["models"]
TRANSFORMERS = [name for name in zoo.names() if isinstance(zoo.get(name), Transformer)]
SMALL = Transformer(
    name="small",
    source="",
    num_layers=2,
    hidden_size=64,
    num_attention_heads=4,
    ffn_hidden_size=96,
    vocab_size=100,
    seq_length=16,
)


@st.composite
def transformers(draw: st.DrawFn) -> Transformer:
    layers = draw(st.integers(1, 4))
    sizes = {
        "num_layers": layers,
        "num_query_groups": draw(st.sampled_from((1, 2, 4))),
        "kv_channels": draw(st.sampled_from((0, 8, 24))),
        "residual": draw(st.sampled_from(("sequential", "parallel", "sandwich"))),
        "normalization": draw(st.sampled_from(("RMSNorm", "LayerNorm"))),
        "max_position_embeddings": draw(st.sampled_from((0, 32))),
        "window_size": draw(st.sampled_from((0, 1, 7, 40))),
    }
    for switch in (
        *("gated_linear_unit", "qkv_bias", "attention_output_bias", "mlp_bias", "rotary"),
        *("qk_layernorm", "tie_word_embeddings"),
    ):
        sizes[switch] = draw(st.booleans())
    if draw(st.booleans()):
        sizes |= {
            "num_query_groups": 4, "kv_channels": 0, "window_size": 0, "qk_layernorm": False,
            "q_lora_rank": draw(st.sampled_from((0, 12))), "kv_lora_rank": 20, "qk_head_dim": 8,
            "qk_pos_emb_head_dim": 4, "v_head_dim": 12,
            "qkv_bias": False, "attention_output_bias": False,
        }  # fmt: skip
    if draw(st.booleans()):
        sizes |= {
            "num_experts": 8, "moe_router_topk": draw(st.integers(1, 8)),
            "moe_ffn_hidden_size": draw(st.sampled_from((0, 40))),
            "moe_shared_expert_intermediate_size": draw(st.sampled_from((0, 56))),
            "moe_layer_freq": tuple(draw(st.integers(0, 1)) for _ in range(layers)),
            "moe_router_enable_expert_bias": draw(st.booleans()),
        }  # fmt: skip
    return SMALL.replace(**sizes)


def check(sizes: Transformer, sequence: int, batch: int = 1) -> None:
    model = model_of(sizes)
    assert model.parameters() == forms.parameters(sizes)
    assert model.active_parameters() == forms.active_parameters(sizes)
    assert model.kv_bytes_per_token() == forms.kv_bytes_per_token(sizes)
    assert model.kv_bytes_per_token("fp8") == forms.kv_bytes_per_token(sizes, 1)
    for counting in ("exact", "full", "megatron"):
        expected = batch * forms.forward_flops(sizes, sequence, counting)
        assert model.flops(sequence, batch, counting) == expected, counting


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_the_graph_of_a_known_model_counts_what_the_closed_forms_count(name: str) -> None:
    sizes = zoo.get(name)
    assert isinstance(sizes, Transformer)
    check(sizes, sizes.seq_length, batch=2)


@pytest.mark.parametrize("name", COUNTS)
def test_the_graph_of_a_known_model_counts_what_is_recorded(name: str) -> None:
    model, counts = model_of(zoo.get(name)), COUNTS[name]
    sequence = counts["sequence"]
    assert model.parameters() == counts["parameters"]
    assert model.active_parameters() == counts["active_parameters"]
    assert model.kv_bytes_per_token() == counts["kv_bytes_per_token"]
    assert model.flops(sequence) == counts["forward_flops_exact"]
    assert model.flops(sequence, causal="full") == counts["forward_flops_full"]
    assert 3 * model.flops(sequence, causal="megatron") == counts["train_flops_megatron"]


@given(transformers(), st.integers(1, 16))
def test_the_graph_of_any_transformer_counts_what_the_closed_forms_count(
    sizes: Transformer, half: int
) -> None:
    check(sizes, 2 * half)


def test_a_model_stays_what_it_is() -> None:
    model = model_of(SMALL)
    assert model_of(model) is model
    assert model.layers[0].mlp == MLP(intermediate=96)  # type: ignore[attr-defined]
    assert hash(model) == hash(model_of(SMALL))


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (lambda: model_of(SMALL).flops(0), "sequence: expected at least 1"),
        (lambda: model_of(SMALL).flops(8, 0), "batch: expected at least 1"),
        (lambda: model_of(SMALL).kv_bytes_per_token("bf17"), 'dtype: expected one of fp32'),
        (
            lambda: model_of(SMALL).replace(fixed_sequence=True).flops(8),
            "sequence: small has one length, 16; got 8",
        ),
        (lambda: SMALL.replace(hidden_size=0), "small.hidden_size: expected a whole number 1 to"),
        (lambda: SMALL.replace(hidden_size=True), "small.hidden_size: expected a whole number"),
        (lambda: SMALL.replace(kv_channels=0, num_attention_heads=7, num_query_groups=7),
            "small.num_attention_heads: expected a divisor of hidden_size, which is 64; got 7"),
        (lambda: SMALL.replace(num_query_groups=3), "small.num_query_groups: expected a divisor"),
        (lambda: SMALL.replace(v_head_dim=3), "belongs to latent attention; give kv_lora_rank"),
        (lambda: SMALL.replace(moe_router_topk=2), "belongs to experts; give num_experts too"),
        (lambda: SMALL.replace(window_attn_skip_freq=(1, 0)), "needs a window_size"),
        (
            lambda: SMALL.replace(num_experts=4, moe_router_topk=2, moe_layer_freq=(1,)),
            "expected a 0 or 1 for each of the 2 layers, got 1 values",
        ),
        (
            lambda: SMALL.replace(num_experts=8, moe_router_topk=3, moe_router_num_groups=4,
                                  moe_router_group_topk=1),
            "small.moe_router_topk: expected a whole number 1 to 2, got 3",
        ),
        (
            lambda: SMALL.replace(num_experts=8, moe_router_topk=2, moe_router_group_topk=1),
            "small.moe_router_group_topk: needs moe_router_num_groups",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(wrong: object, problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        wrong()  # type: ignore[operator]
    assert problem in str(error.value)
