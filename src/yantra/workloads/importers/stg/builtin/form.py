"""What the modules of the models have in common and where they differ."""

from __future__ import annotations

from yantra.base.records import Record


class Form(Record):
    """How a model is built and sharded.

    `splits_sequence` shards tokens over tp wherever no matrix product needs them whole; then a pair
    of all-gather and reduce-scatter stands where an all-reduce would. `shards_weights` is for the
    inference models; the others shard layers as a whole.
    """

    splits_sequence: bool = True
    grouped_heads: bool = False
    gated: bool = False
    shards_weights: bool = False

    @property
    def tokens(self) -> str:
        """Batch and sequence of activations between products, as a rank holds them."""
        return "Batch/dp, Seq/(cp*tp)" if self.splits_sequence else GATHERED

    @property
    def kv_heads(self) -> str:
        """The number of key and value heads."""
        return "KVHead" if self.grouped_heads else "Head"


GATHERED = "Batch/dp, Seq/cp"
"""Batch and sequence where a product over tp reads them."""
