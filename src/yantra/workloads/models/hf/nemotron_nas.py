"""Llama-Nemotron: Llama whose layers were found by search, each its own"""

from __future__ import annotations

from typing import Any

from yantra.base.errors import expected_got
from yantra.workloads.models.blocks import Block, Layer
from yantra.workloads.models.blocks.nothing import Nothing
from yantra.workloads.models.blocks.single_layer import SingleLayer
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model

PLUGIN_NAME = "nemotron-nas"


def read(config: Config) -> Model:
    """Read a `nemotron-nas` config, whose `block_configs` describe every layer."""
    sizes = decoder.sizes(config, ffn=0)
    config.skip("num_key_value_heads", "intermediate_size", "block_configs")
    bias, plain = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    found = config.value("block_configs", None)
    layers = sizes["num_layers"]
    if not isinstance(found, list) or len(found) != layers:
        problem = f"expected an object for each of the {layers} layers"
        raise config.wrong("block_configs", problem)
    made: list[Block] = []
    for at, one in enumerate(found):
        where = f"block_configs[{at}]"
        parts_of = one if isinstance(one, dict) else {}
        made.append(
            _layer(
                sizes["hidden_size"],
                _attention(config, sizes, parts_of.get("attention"), f"{where}.attention", bias),
                _mlp(config, sizes, parts_of.get("ffn"), f"{where}.ffn", plain),
            )
        )
    return parts.model(config, sizes, made)


def _layer(hidden: int, attention: Block | None, mlp: Block | None) -> Block:
    if attention is not None and mlp is not None:
        return Layer(hidden=hidden, attention=attention, mlp=mlp)
    block = attention if mlp is None else mlp
    return Nothing(hidden=hidden) if block is None else SingleLayer(hidden=hidden, block=block)


def _attention(
    config: Config, sizes: parts.Sizes, given: Any, where: str, bias: bool
) -> Block | None:
    about = given if isinstance(given, dict) else {}
    if about.get("no_op"):
        return None
    if about.get("replace_with_linear") or about.get("window_length"):
        raise config.wrong(where, "a product or a window in place of attention is not modelled")
    share, heads = about.get("n_heads_in_group"), sizes["num_attention_heads"]
    if type(share) is not int or share < 1 or heads % share:
        problem = expected_got(f"a divisor of {heads}", share)
        raise config.wrong(f"{where}.n_heads_in_group", problem)
    return parts.attention(config, sizes, kv_heads=heads // share, qkv_bias=bias, out_bias=bias)


def _mlp(config: Config, sizes: parts.Sizes, given: Any, where: str, bias: bool) -> Block | None:
    about = given if isinstance(given, dict) else {}
    if about.get("no_op"):
        return None
    if about.get("replace_with_linear"):
        raise config.wrong(where, "a product in place of feed-forward is not modelled")
    factor = about.get("ffn_mult")
    if not isinstance(factor, int | float) or isinstance(factor, bool) or not 0 < factor < 1000:
        raise config.wrong(f"{where}.ffn_mult", expected_got("a number", factor))
    width = -(-int(2 * factor * sizes["hidden_size"] / 3) // 256) * 256
    return parts.dense(config, sizes, width=width, bias=bias)


PLUGIN = read
