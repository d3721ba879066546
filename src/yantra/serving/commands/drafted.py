"""Drafts that a launch asks for, and how often those of a model are right.

Source: DeepSeek-V3's technical report (arXiv:2412.19437), 5.4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yantra.base.errors import ConfigError, show
from yantra.base.notes import note

_OF_DEEPSEEK = "0.85"
"""The least of the 85 to 90 % that the report has for the second token."""


def drafted(tree: Mapping[str, Any], place: str) -> dict[str, str]:
    method = str(tree.get("method", ""))
    kind = "ngram" if method == "ngram" else "mtp" if "mtp" in method else ""
    if not kind:
        raise ConfigError(place, f"drafts by {show(method or 'a model')} are not covered")
    return {"draft": kind, "num_speculative_tokens": str(tree.get("num_speculative_tokens", 1))}


def acceptance_of(model: object, draft: str, where: str) -> str:
    """The published chance of a model's drafts, which a note says; empty where none is."""
    name = str(getattr(model, "name", model)).rpartition("/")[2].lower()
    if draft != "mtp" or not name.startswith("deepseek-v3"):
        return ""
    note(f"{where}: drafts taken as right in {_OF_DEEPSEEK} of cases (--set acceptance=0.7)")
    return _OF_DEEPSEEK
