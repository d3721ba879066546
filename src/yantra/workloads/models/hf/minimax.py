"""MiniMax-Text-01 and M1: seven layers of lightning attention to one of attention, experts"""

from __future__ import annotations

from yantra.workloads.models.blocks.lightning import LightningAttention
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    sizes = decoder.sizes(config)
    layers = sizes["num_layers"]
    width = sizes["kv_channels"] or sizes["hidden_size"] // sizes["num_attention_heads"]
    config.must_be("sliding_window", None, because="it has no windows")
    config.must_be("shared_intermediate_size", 0, [0], because="it has no shared experts")
    config.skip("postnorm", "rotary_dim", "shared_moe_mode", "router_jitter_noise")
    for kind in ("full_attn", "linear_attn", "mlp"):
        config.skip(*(f"{kind}_{factor}_factor" for factor in ("alpha", "beta")))
    for kind in ("full_attention", "linear_attention", "mlp"):
        config.skip(*(f"layernorm_{kind}_{factor}" for factor in ("alpha", "beta")))
    types = config.numbers("attn_type_list", "decoder_attention_types")
    if types and (len(types) != layers or not set(types) <= {0, 1}):
        problem = f"expected a 0 or 1 for each of the {layers} layers"
        raise config.wrong("attn_type_list", problem)
    usual = parts.every(8 if types or config.has("attn_type_list") else 2, parts.FULL, parts.LINEAR)
    words = {parts.FULL: parts.FULL, parts.LINEAR: parts.LINEAR}
    kinds = parts.kinds(
        config, layers,
        lambda at: (parts.LINEAR, parts.FULL)[types[at]] if types else usual(at), words,
    )  # fmt: skip
    mixer = LightningAttention(
        heads=sizes["num_attention_heads"], head_dim=width,
        chunk=config.size("block_size", default=256),
    )  # fmt: skip
    attention = parts.attention(config, sizes)
    mixture = parts.routed(config, sizes)
    return parts.decoder(
        config, sizes,
        lambda at: attention if kinds[at] == parts.FULL else mixer, lambda _: mixture,
    )  # fmt: skip


PLUGIN = read
