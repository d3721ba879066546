"""DeepSeek-V3.2: DeepSeek-V3 whose queries choose their keys by an index"""

from __future__ import annotations

from yantra.workloads.models.blocks.sparse_index import SparseIndex
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `deepseek_v32` config, without multi-token prediction."""
    sizes = decoder.sizes(config)
    config.word("topk_method", ("noaux_tc",), "noaux_tc")
    return indexed(config, sizes, ("full",) * sizes["num_layers"])


def indexed(config: Config, sizes: parts.Sizes, indexers: tuple[str, ...]) -> Model:
    index = SparseIndex(
        index_heads=config.size("index_n_heads"), width=config.size("index_head_dim")
    )
    keys, kept = config.size("index_topk"), index.cache().fixed_bytes
    config.notes.append(f"the index caches a key in FP8 in each layer that has it: {kept} bytes")
    config.skip("indexer_rope_interleave", "index_share_for_mtp_iteration", "layer_types")
    mixture = parts.routed(config, sizes, router_bias=True)
    full = parts.latent(config, sizes, keys=keys, index=index)
    if not full.q_lora:
        raise config.wrong("q_lora_rank", "the index is made of compressed queries; needs a rank")
    shared = full.replace(index=None)
    return parts.sparse_decoder(
        config, sizes, lambda at: full if indexers[at] == "full" else shared, mixture
    )


PLUGIN = read
