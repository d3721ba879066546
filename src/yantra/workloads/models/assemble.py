"""Where a transformer's sizes become blocks."""

from __future__ import annotations

from yantra.workloads.models.blocks import MLA, MLP, Attention, Block, Embedding, Head, Layer, MoE
from yantra.workloads.models.blocks.more_tokens import MoreTokens
from yantra.workloads.models.blocks.parallel_layer import ParallelLayer
from yantra.workloads.models.blocks.sandwich_layer import SandwichLayer
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer

_LAYERS: dict[str, type[Layer] | type[ParallelLayer] | type[SandwichLayer]] = {
    "sequential": Layer,
    "parallel": ParallelLayer,
    "sandwich": SandwichLayer,
}
_MORE_TOKENS = "multi-token-prediction"
_NORMS = {"RMSNorm": "rms", "LayerNorm": "layer"}


def model_of(described: Transformer | Model) -> Model:
    if isinstance(described, Model):
        return described
    t = described
    norm = _NORMS[t.normalization]
    layers = tuple(
        _LAYERS[t.residual](
            hidden=t.hidden_size, attention=_attention(t, at), mlp=_mlp(t, at), norm=norm
        )
        for at in range(t.num_layers)
    )
    tied = t.tie_word_embeddings or t.mtp_num_layers > 0
    embedding = Embedding(
        vocab=t.vocab_size, hidden=t.hidden_size, positions=t.max_position_embeddings, tied=tied
    )
    head = Head(vocab=t.vocab_size, hidden=t.hidden_size, norm=norm, tied=t.tie_word_embeddings)
    tail: Block = head
    if t.mtp_num_layers:
        tail = MoreTokens(
            head=head,
            layer=layers[-1],
            embedding=embedding.replace(positions=0),
            modules=t.mtp_num_layers,
            norm=norm,
        )
    return Model(
        name=t.name,
        hidden=t.hidden_size,
        front=embedding,
        layers=layers,
        tail=tail,
        sequence=t.seq_length,
        source=t.source,
        notes=_notes(t),
    )


def _notes(t: Transformer) -> tuple[str, ...]:
    return tuple(one for one in t.notes if not (t.mtp_num_layers and _MORE_TOKENS in one))


def _attention(t: Transformer, layer: int) -> Block:
    if t.multi_latent_attention:
        return MLA(
            heads=t.num_attention_heads,
            q_lora=t.q_lora_rank,
            kv_lora=t.kv_lora_rank,
            qk_nope=t.qk_head_dim,
            qk_rope=t.qk_pos_emb_head_dim,
            v_dim=t.v_head_dim,
        )
    return Attention(
        heads=t.num_attention_heads,
        kv_heads=t.num_query_groups,
        head_dim=t.kv_channels,
        qkv_bias=t.qkv_bias,
        out_bias=t.attention_output_bias,
        qk_norm="head" if t.qk_layernorm else "none",
        rope=t.rotary,
        window=t.window(layer) or None,
    )


def _mlp(t: Transformer, layer: int) -> Block:
    if not t.has_experts(layer):
        return MLP(intermediate=t.ffn_hidden_size, gated=t.gated_linear_unit, bias=t.mlp_bias)
    shared = t.moe_shared_expert_intermediate_size
    return MoE(
        experts=t.num_experts,
        top_k=t.moe_router_topk,
        intermediate=t.moe_ffn_hidden_size,
        gated=t.gated_linear_unit,
        shared=1 if shared else 0,
        shared_intermediate=shared or None,
        router_bias=t.moe_router_enable_expert_bias,
        groups=t.moe_router_num_groups or None,
        top_groups=t.moe_router_group_topk or None,
    )
