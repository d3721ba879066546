"""MiniMax-M3: blocks of keys chosen by an index, experts beside a shared one"""

from __future__ import annotations

from yantra.base.errors import expected_got
from yantra.workloads.models.blocks.sparse_index import SparseIndex
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read the language model of a `minimax_m3` config."""
    dense = config.count("dense_intermediate_size", default=0)
    sizes = decoder.sizes(config)
    layers = sizes["num_layers"]
    config.must_be("attention_output_gate", False, because="gates behind attention")
    config.must_be("qk_norm_type", "per_head", because="norms over all heads are M2's")
    config.skip("rotary_dim", "swiglu_alpha", "swiglu_limit", "use_gemma_norm", "use_qk_norm")
    config.skip(
        "scoring_func", "routed_scaling_factor", "use_routing_bias", "moe_intermediate_size"
    )
    given = config.value("sparse_attention_config", {})
    if not isinstance(given, dict):
        raise config.wrong("sparse_attention_config", expected_got("an object of keys", given))
    words = {"minimax_m3_sparse": parts.LINEAR, parts.FULL: parts.FULL}
    often = given.get("sparse_attention_freq", [])
    listed = isinstance(often, list) and len(often) == layers
    kinds = parts.kinds(
        config, layers,
        lambda at: parts.LINEAR if listed and often[at] == 1 else parts.FULL, words,
    )  # fmt: skip
    block = _size(config, given, "sparse_block_size", "index_block_size", 128)
    chosen = _size(config, given, "sparse_topk_blocks", "index_topk_blocks", 16)
    config.skip("index_local_blocks")
    full = parts.attention(config, sizes, qk_norm="head")
    indexed = full.replace(
        keys=block * chosen,
        index=SparseIndex(
            index_heads=_size(config, given, "sparse_num_index_heads", "index_n_heads", 4),
            width=_size(config, given, "sparse_index_dim", "index_head_dim", 128),
            weighted=False,
        ),
    )
    width = sizes["ffn_hidden_size"]
    shared = config.count("shared_intermediate_size", default=width)
    mixture = parts.experts(
        config, config.size("num_local_experts"), config.size("num_experts_per_tok"), width,
        shared_width=shared * config.count("n_shared_experts", default=1), router_bias=True,
    )  # fmt: skip
    plain = parts.dense(config, sizes, width=dense or width)
    sparse = parts.has_experts(config, layers)
    return parts.decoder(
        config, sizes, lambda at: full if kinds[at] == parts.FULL else indexed,
        lambda at: mixture if sparse[at] else plain,
    )  # fmt: skip


def _size(config: Config, given: dict[str, object], key: str, other: str, default: int) -> int:
    value = given.get(key)
    if value is None:
        return config.size(other, default=default)
    if type(value) is not int or value < 1:
        problem = expected_got("a whole number, at least 1", value)
        raise config.wrong(f"sparse_attention_config.{key}", problem)
    return value


PLUGIN = read
