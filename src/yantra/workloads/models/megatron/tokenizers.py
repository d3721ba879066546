"""Words of the vocabularies of tokenizers that Megatron-LM knows by type, where no size is given.

Sources: GPT-2's and Llama 2's published vocabularies; the usual size of Megatron-LM's
`TikTokenizer`; a model's by its id.
"""

from __future__ import annotations

import re

from yantra.base.notes import note
from yantra.workloads.models.megatron.given import Given
from yantra.workloads.models.transformer import Transformer

_GPT2 = "GPT2BPETokenizer"
GPT2_WORDS = 50_257
_WORDS = {_GPT2: GPT2_WORDS, "Llama2Tokenizer": 32_000, "TikTokenizer": 2**17}
_OF_A_MODEL = ("HuggingFaceTokenizer", "HFTokenizer", "PretrainedFromHF", "Llama3Tokenizer",
               "GPTSentencePieceTokenizer", "SentencePieceTokenizer")  # fmt: skip
_FAMILIES = {"llama-?3": 128_256, "llama(-?[12])?": 32_000, "mi[sx]tral": 32_000}
"""Families of models with one vocabulary each, by a part of a path."""


def words_of(given: Given) -> int:
    """The words of a tokenizer, which a note says; 0 where they are not known."""
    kind = given.values.get("tokenizer-type", _GPT2 if given.flag("vocab-file") else "")
    model = given.values.get("tokenizer-model", "")
    words = _WORDS.get(kind, 0)
    if kind in _OF_A_MODEL and (found := words_of_path(model)):
        words, kind = found, model
    if words:
        note(f"{given.where}: a vocabulary of {words}, that of {kind}; --vocab-size says another")
    return words


def words_of_path(path: str) -> int:
    """The words of a model whose id or family a part of a path is; 0 where none is known."""
    from yantra.workloads.models import hub

    parts = [path, *reversed([part for part in path.split("/") if part])]
    for part in parts:
        known = hub.find(part, of_any_owner=part is path)
        if known is not None and isinstance(known.model, Transformer):
            return known.model.vocab_size
    for part in parts[1:]:
        for family, words in _FAMILIES.items():
            if re.match(rf"{family}($|[-_.])", part, re.IGNORECASE):
                return words
    return 0
