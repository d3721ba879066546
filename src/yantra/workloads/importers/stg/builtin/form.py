"""What the models' modules share, and where they differ."""

from __future__ import annotations

from yantra.base.records import Record


class Form(Record):
    """`splits_sequence` shards tokens over tp outside of products that need them whole, with
    all-gather and reduce-scatter instead of all-reduce. `shards_weights` is for the inference
    models; others shard layers as a whole.
    """

    splits_sequence: bool = True
    grouped_heads: bool = False
    gated: bool = False
    shards_weights: bool = False

    @property
    def tokens(self) -> str:
        return "Batch/dp, Seq/(cp*tp)" if self.splits_sequence else GATHERED

    @property
    def kv_heads(self) -> str:
        return "KVHead" if self.grouped_heads else "Head"


GATHERED = "Batch/dp, Seq/cp"
"""Batch and sequence where a product over tp reads them."""
