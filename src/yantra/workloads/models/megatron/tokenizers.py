"""Words of the vocabularies of tokenizers that Megatron-LM knows by type, where no size is given.

Sources: GPT-2's and Llama 2's published vocabularies; a model's by its id, from the zoo.
"""

from __future__ import annotations

from yantra.base.notes import note
from yantra.workloads.models.megatron.given import Given
from yantra.workloads.models.transformer import Transformer

_GPT2 = "GPT2BPETokenizer"
GPT2_WORDS = 50_257
_WORDS = {_GPT2: GPT2_WORDS, "Llama2Tokenizer": 32_000}


def words_of(given: Given) -> int:
    """The words of a tokenizer, which a note says; 0 where they are not known."""
    from yantra.workloads.models import zoo

    kind = given.values.get("tokenizer-type", _GPT2 if given.flag("vocab-file") else "")
    model = given.values.get("tokenizer-model", "")
    words = _WORDS.get(kind, 0)
    if kind == "HuggingFaceTokenizer" and zoo.is_known(model):
        described = zoo.get(model)
        words = described.vocab_size if isinstance(described, Transformer) else 0
        kind = model
    if words:
        note(f"{given.where}: a vocabulary of {words}, that of {kind}; --vocab-size says another")
    return words
