"""BERT with the heads of its pre-training."""

from __future__ import annotations

from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model
from yantra.workloads.models.zoo.bert import bert


def read(config: Config) -> Model:
    """Read a `bert` config."""
    hidden, heads = config.size("hidden_size"), config.size("num_attention_heads")
    if hidden % heads:
        problem = f"expected a divisor of hidden_size, which is {hidden}; got {heads}"
        raise config.wrong("num_attention_heads", problem)
    config.must_be("is_decoder", False, because="only the encoder is covered")
    config.must_be("position_embedding_type", "absolute", because="other positions")
    config.must_be("tie_word_embeddings", True, because="a head with a weight of its own")
    config.skip("directionality", "pooler_fc_size", "pooler_num_attention_heads")
    config.skip("pooler_num_fc_layers", "pooler_size_per_head", "pooler_type")
    sizes = {
        "layers": config.layers("num_hidden_layers"),
        "hidden": hidden,
        "heads": heads,
        "intermediate": config.size("intermediate_size"),
        "vocab": config.size("vocab_size"),
        "positions": config.size("max_position_embeddings"),
        "types": config.size("type_vocab_size", default=2),
    }
    config.finish()
    return bert(config.name, config.where, **sizes)


PLUGIN = read
