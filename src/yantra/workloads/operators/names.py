"""Names out of a few, in a list or a text with commas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from yantra.base.errors import ConfigError, did_you_mean, expected_got

NONE = "none"


def names_in(text: Any, known: Iterable[str], field: str) -> tuple[str, ...]:
    """Return each once, without `none`. Raises ConfigError for one that is not `known`."""
    words = text.replace(",", " ").split() if isinstance(text, str) else text
    known = tuple(known)
    if not isinstance(words, list | tuple) or not words:
        raise ConfigError(field, expected_got(f"some of {', '.join(known)}", text))
    for word in words:
        if word not in known:
            hint = did_you_mean(str(word), known)
            raise ConfigError(field, expected_got(f"one of {', '.join(known)}", word) + hint)
    return tuple(dict.fromkeys(word for word in words if word != NONE))
