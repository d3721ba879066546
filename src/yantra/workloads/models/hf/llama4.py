"""Llama 4: chunks of attention but for every fourth layer, one expert beside a shared one"""

from __future__ import annotations

from yantra.workloads.models.blocks import Block
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read the language model of a `llama4` config."""
    sizes = decoder.sizes(config)
    layers = sizes["num_layers"]
    interval = config.size("no_rope_layer_interval", default=4)
    rotated = config.numbers("no_rope_layers")
    if not rotated:
        rotated = tuple(int((at + 1) % interval != 0) for at in range(layers))
    if len(rotated) != layers:
        problem = f"expected a 0 or 1 for each of the {layers} layers, got {len(rotated)} values"
        raise config.wrong("no_rope_layers", problem)
    words = {"chunked_attention": "chunked_attention", parts.FULL: parts.FULL}
    usual = ("full_attention", "chunked_attention")
    kinds = parts.kinds(config, layers, lambda at: usual[rotated[at] > 0], words)
    chunk = config.count("attention_chunk_size", default=8192) or None
    normed, bias = config.flag("use_qk_norm", True), config.flag("attention_bias", False)
    config.skip("attn_temperature_tuning", "floor_scale", "attn_scale", "for_llm_compressor")
    step, named = config.size("interleave_moe_layer_step", default=1), config.numbers("moe_layers")
    width = sizes["ffn_hidden_size"]
    mixture = parts.experts(
        config, config.size("num_local_experts"), config.size("num_experts_per_tok", default=1),
        width, shared_width=width,
    )  # fmt: skip
    usual_mlp = parts.dense(config, sizes, width=config.size("intermediate_size_mlp"))
    sparse = named or tuple(range(step - 1, layers, step))

    def attention(at: int) -> Block:
        chunked = kinds[at] == "chunked_attention" and chunk is not None
        return parts.attention(
            config, sizes, qkv_bias=bias, out_bias=bias, rope=rotated[at] > 0,
            qk_norm="unweighted" if normed and rotated[at] else "none",
            window=chunk if chunked else None, chunked=chunked,
        )  # fmt: skip

    return parts.decoder(
        config, sizes, attention, lambda at: mixture if at in sparse else usual_mlp
    )


PLUGIN = read
