"""The built-in modules under the names that `models.py` uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

from yantra.base.errors import ConfigError, did_you_mean
from yantra.workloads.importers.stg.builtin import (
    around,
    attention,
    ends,
    experts,
    feed_forward,
    inference,
)
from yantra.workloads.importers.stg.builtin.form import Form
from yantra.workloads.importers.stg.module import Library, Module
from yantra.workloads.importers.stg.settings import Settings

Maker = Callable[[Form], Module]

_TRAINING: Mapping[str, Maker] = {
    "embedding": ends.embedding,
    "loss": ends.loss,
    "layer_norm": around.norm,
    "residual": around.residual,
    "group_query_attention_surrounding": attention.projections,
    "group_query_attention_kernel_fused": attention.core,
    "llama_feed_forward_network": feed_forward.feed_forward,
    "moe_frame": experts.routing,
    "expert_wrapper": experts.share,
}
_INFERENCE: Mapping[str, Mapping[str, Maker]] = {
    "prefilling": {
        "embedding": partial(inference.embedding, sequence="Seq"),
        "multi_head_attention": inference.prefill_attention,
        "feed_forward_network": partial(inference.feed_forward, sequence="Seq"),
    },
    "decoding": {
        "embedding": partial(inference.embedding, sequence="1"),
        "multi_head_attention": inference.decode_attention,
        "feed_forward_network": partial(inference.feed_forward, sequence="1"),
    },
}


def builtin(settings: Settings) -> Library:
    makers = _INFERENCE.get(settings.family, _TRAINING)
    form = Form(
        splits_sequence=settings.splits_sequence,
        grouped_heads=settings.family in ("llama", "moe"),
        gated=settings.family == "llama",
        shards_weights=settings.weight_sharded,
    )

    @cache
    def module(name: str) -> Module:
        if name not in makers:
            hint = did_you_mean(name, makers)
            raise ConfigError(name, f"no built-in module of {settings.family} has this name{hint}")
        return makers[name](form)

    return module
