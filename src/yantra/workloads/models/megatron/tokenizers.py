"""Words of the vocabularies of tokenizers that Megatron-LM knows by type, where no size is given.

Sources: GPT-2's and Llama 2's published vocabularies; the usual size of Megatron-LM's
`TikTokenizer`; a model's by its id.
"""

from __future__ import annotations

from yantra.base.notes import note
from yantra.workloads.models.megatron.given import Given
from yantra.workloads.models.transformer import Transformer

_GPT2 = "GPT2BPETokenizer"
GPT2_WORDS = 50_257
_WORDS = {_GPT2: GPT2_WORDS, "Llama2Tokenizer": 32_000, "TikTokenizer": 2**17}
_OF_A_MODEL = ("HuggingFaceTokenizer", "HFTokenizer", "PretrainedFromHF", "Llama3Tokenizer")


def words_of(given: Given) -> int:
    """The words of a tokenizer, which a note says; 0 where they are not known."""
    from yantra.workloads.models import hub

    kind = given.values.get("tokenizer-type", _GPT2 if given.flag("vocab-file") else "")
    model = given.values.get("tokenizer-model", "")
    words = _WORDS.get(kind, 0)
    known = hub.find(model, of_any_owner=True) if kind in _OF_A_MODEL and model else None
    if known is not None and isinstance(known.model, Transformer):
        words, kind = known.model.vocab_size, known.id
    if words:
        note(f"{given.where}: a vocabulary of {words}, that of {kind}; --vocab-size says another")
    return words
