"""Drafts that a launch asks for, and how often those of a model are right.

Sources: DeepSeek-V3's technical report (arXiv:2412.19437), 5.4.3; Li et al., EAGLE, ICML 2024
(arXiv:2401.15077), acceptance rates of chains; sglang, arg_groups/fields (`speculative_*`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from yantra.base.errors import ConfigError, show
from yantra.base.notes import note
from yantra.base.shell import Word

_OF_LAYERS = re.compile("mtp|eagle|medusa|nextn")
"""Methods whose drafts come from a layer or so on top of the model."""
_OF_EAGLE = "0.69"
"""The least of the 0.69 to 0.79 of its tables."""
_OF_DEEPSEEK = "0.85"
"""The least of the 85 to 90 % that the report has for the second token."""


def drafted(tree: Mapping[str, Any], place: str) -> dict[str, str]:
    method = str(tree.get("method", "")).lower()
    if not method and "eagle" in str(tree.get("model", "")).lower():
        method = "eagle"
    kind = "ngram" if "ngram" in method else "mtp" if _OF_LAYERS.search(method) else ""
    if not kind:
        raise ConfigError(place, f"drafts by {show(method or 'a model')} are not covered")
    if kind == "mtp" and "eagle" in method:
        note(f"{place}: each draft is taken to cost a layer of the model")
    return {"draft": kind, "num_speculative_tokens": str(tree.get("num_speculative_tokens", 1))}


def acceptance_of(model: object, draft: str, where: str) -> str:
    """The published chance of a model's drafts, which a note says; empty where none is."""
    name = str(getattr(model, "name", model)).rpartition("/")[2].lower()
    if draft != "mtp":
        return ""
    chance = _OF_DEEPSEEK if name.startswith("deepseek-v3") else _OF_EAGLE
    note(f"{where}: drafts taken as right in {chance} of cases (--set acceptance=0.7)")
    return chance


def of_sglang(given: Iterable[tuple[str, list[Word]]], place: str) -> dict[str, Any]:
    """SGLang's flags for drafts as vLLM's mapping; empty where it asks for none."""
    said = {name.removeprefix("speculative-"): values[0].text for name, values in given
            if name.startswith("speculative-") and values}  # fmt: skip
    method = said.get("algorithm", said.get("algo", "")).lower()
    if not method:
        return {}
    steps = said.get("num-steps") or said.get("num-draft-tokens") or "1"
    if int(said.get("eagle-topk", "1") or 1) > 1:
        note(f"{place}: of a tree of drafts its longest chain alone is checked")
    return {"method": "mtp" if method == "nextn" else method, "num_speculative_tokens": steps}


AS_VLLM: Mapping[str, str] = {
    "max_running_requests": "max_num_seqs",
    "chunked_prefill_size": "max_num_batched_tokens",
    "radix_cache": "enable_prefix_caching",
}
"""Options of SGLang, and vLLM's."""


def as_vllm(fields: Mapping[str, Any], place: str) -> dict[str, Any]:
    """A launch of SGLang with drafts as one of vLLM, whose scheduler knows drafts."""
    note(f"{place}: drafts are played by vLLM's scheduler, SGLang's own has none here")
    dropped = ("overlap", "mixed_chunk", "page_size", "schedule_policy", "max_prefill_tokens",
               "schedule_conservativeness")  # fmt: skip
    return {AS_VLLM.get(name, name): value for name, value in fields.items() if name not in dropped}
