"""Blocks of decoders from a config's keys: attention, feed-forward, experts, and the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from yantra.base.errors import expected_got
from yantra.workloads.models.blocks import (
    MLA,
    MLP,
    Attention,
    Block,
    Embedding,
    Head,
    Layer,
    MoE,
)
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model

Sizes = Mapping[str, Any]
SLIDING, FULL, LINEAR = "sliding_attention", "full_attention", "linear_attention"


def model(config: Config, sizes: Sizes, layers: Sequence[Block], norm: str = "rms") -> Model:
    config.finish()
    vocab, hidden, tied = sizes["vocab_size"], sizes["hidden_size"], sizes["tie_word_embeddings"]
    return Model(
        name=config.name,
        hidden=hidden,
        front=Embedding(vocab=vocab, hidden=hidden, tied=tied),
        layers=tuple(layers),
        tail=Head(vocab=vocab, hidden=hidden, norm=norm, tied=tied),
        sequence=sizes["seq_length"],
        source=config.where,
        notes=tuple(config.notes),
    )


def decoder(
    config: Config,
    sizes: Sizes,
    attention: Callable[[int], Block],
    mlp: Callable[[int], Block],
    *,
    layer: Any = Layer,
    norm: str = "rms",
    **about: Any,
) -> Model:
    hidden = sizes["hidden_size"]
    layers = [
        layer(hidden=hidden, attention=attention(at), mlp=mlp(at), norm=norm, **about)
        for at in range(sizes["num_layers"])
    ]
    return model(config, sizes, layers, norm)


def attention(config: Config, sizes: Sizes, **about: Any) -> Attention:
    heads = about.pop("heads", sizes["num_attention_heads"])
    kv_heads = about.pop("kv_heads", sizes["num_query_groups"])
    width = about.pop("head_dim", sizes["kv_channels"])
    if heads % kv_heads:
        problem = f"expected a divisor of num_attention_heads, which is {heads}; got {kv_heads}"
        raise config.wrong("num_key_value_heads", problem)
    width = width or head_width(config, sizes["hidden_size"], heads)
    return Attention(heads=heads, kv_heads=kv_heads, head_dim=width, **about)


def head_width(config: Config, hidden: int, heads: int) -> int:
    if heads > hidden:
        problem = f"expected at most hidden_size, which is {hidden}; got {heads}"
        raise config.wrong("num_attention_heads", problem)
    if hidden % heads:
        note = f"{hidden} is no multiple of {heads} heads, and nothing says how wide they are"
        if f"{note}: {hidden // heads}" not in config.notes:
            config.notes.append(f"{note}: {hidden // heads}")
    return hidden // heads


def experts(config: Config, count: int, chosen: int, width: int, **about: Any) -> MoE:
    """A mixture of `count` experts, `chosen` per token."""
    if chosen > count:
        problem = f"expected at most as many as there are experts, which is {count}; got {chosen}"
        raise config.wrong("num_experts_per_tok", problem)
    shared = about.pop("shared_width", 0)
    return MoE(
        experts=count, top_k=chosen, intermediate=width,
        shared=1 if shared else 0, shared_intermediate=shared or None, **about,
    )  # fmt: skip


def routed(config: Config, sizes: Sizes, **about: Any) -> MoE:
    config.skip("norm_topk_prob", "routed_scaling_factor", "scoring_func", "topk_method")
    config.skip("moe_router_dtype", "aux_loss_alpha", "seq_aux", "ep_size")
    groups = config.size("n_group", "num_expert_group", default=1)
    count = config.size("n_routed_experts", "num_experts", "num_local_experts")
    chosen = config.size("topk_group", default=groups)
    if groups > 1:
        if count % groups:
            raise config.wrong("n_group", f"expected a divisor of {count} experts, got {groups}")
        about |= {"groups": groups, "top_groups": chosen}
    per_token = config.size("num_experts_per_tok", "num_experts_per_token", "experts_per_token")
    width = config.size("moe_intermediate_size", default=sizes["ffn_hidden_size"])
    if "shared_width" not in about:
        shared = config.count("n_shared_experts", "num_shared_experts", default=0)
        about["shared_width"] = shared * width
    return experts(config, count, per_token, width, **about)


def has_experts(config: Config, layers: int, *, first_dense: int = 0) -> tuple[bool, ...]:
    dense = config.count("first_k_dense_replace", "num_dense_layers", default=first_dense)
    given = config.words("mlp_layer_types")
    if given:
        known = ("dense", "sparse")
        if len(given) != layers or not set(given) <= set(known):
            expected = f"{' or '.join(known)} for each of the {layers} layers"
            raise config.wrong("mlp_layer_types", expected_got(expected, list(given)))
        config.skip("moe_layer_freq")
        return tuple(word == "sparse" for word in given)
    often = config.value("moe_layer_freq", 1)
    if isinstance(often, list):
        if len(often) != layers or not set(map(str, often)) <= {"0", "1"}:
            expected = f"a 0 or 1 for each of the {layers} layers"
            raise config.wrong("moe_layer_freq", expected_got(expected, often))
        return tuple(one == 1 for one in often)
    if type(often) is not int or often < 1:
        raise config.wrong("moe_layer_freq", expected_got("a whole number, at least 1", often))
    return tuple(at >= dense and at % often == 0 for at in range(layers))


def kinds(
    config: Config, layers: int, usual: Callable[[int], str], known: Mapping[str, str]
) -> tuple[str, ...]:
    given = config.words("layer_types", "layers_block_type")
    if not given:
        return tuple(usual(at) for at in range(layers))
    if len(given) != layers or not set(given) <= known.keys():
        expected = f"{' or '.join(known)} for each of the {layers} layers"
        raise config.wrong("layer_types", expected_got(expected, list(given)))
    return tuple(known[word] for word in given)


def windows(
    config: Config, layers: int, usual: Callable[[int], str], default: int = 0
) -> tuple[int | None, ...]:
    """Every layer's window, None where attention is full."""
    width = config.count("sliding_window", default=default)
    found = kinds(config, layers, usual, {SLIDING: SLIDING, FULL: FULL})
    if SLIDING in found and not width:
        raise config.wrong("sliding_window", "layers with sliding attention need it")
    return tuple(width if kind == SLIDING else None for kind in found)


def every(number: int, last: str = FULL, others: str = SLIDING) -> Callable[[int], str]:
    """The usual kinds where every `number`-th layer differs."""
    return lambda at: last if (at + 1) % number == 0 else others


def dense(config: Config, sizes: Sizes, **about: Any) -> MLP:
    return MLP(intermediate=about.pop("width", sizes["ffn_hidden_size"]), **about)


def latent(config: Config, sizes: Sizes, **about: Any) -> MLA:
    heads = sizes["num_attention_heads"]
    config.must_be("num_key_value_heads", heads, because="every head has its keys and values")
    config.must_be("attention_bias", False, because="its projections have no biases")
    config.skip("head_dim", "qk_head_dim", "rope_interleave", "mlp_bias")
    return MLA(
        heads=heads,
        q_lora=config.count("q_lora_rank", default=0),
        kv_lora=config.size("kv_lora_rank"),
        qk_nope=config.size("qk_nope_head_dim"),
        qk_rope=config.size("qk_rope_head_dim"),
        v_dim=about.pop("v_dim", 0) or config.size("v_head_dim"),
        **about,
    )


def sparse_decoder(
    config: Config, sizes: Sizes, attention: Callable[[int], Block], mixture: Block, **about: Any
) -> Model:
    sparse = has_experts(config, sizes["num_layers"], **about)
    plain = dense(config, sizes)
    return decoder(config, sizes, attention, lambda at: mixture if sparse[at] else plain)
