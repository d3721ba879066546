"""The text that says by which rule requests are made: `poisson:rate=10/s,count=1000`."""

from __future__ import annotations

import os
import re
from typing import Any

from yantra.base.errors import ConfigError, show
from yantra.serving.requests.arrivals import rules

_RULE = re.compile(r"([A-Za-z_][\w-]*)(?::(.*))?", re.DOTALL)
_PLAIN = re.compile(r"-?[0-9]{1,18}(\.[0-9]+)?([eE]-?[0-9]{1,2})?")


def options_of(text: str) -> tuple[str, dict[str, Any]] | None:
    """Raises ConfigError for what is neither."""
    match = _RULE.fullmatch(text)
    if match is None or os.path.exists(text):
        return None
    kind, given = match[1].replace("-", "_"), match[2]
    if given is None and kind not in rules.names():
        if "." in text or os.sep in text:
            return None
        rules.get(kind, "requests")
    options: dict[str, Any] = {}
    for part in (given or "").split(","):
        if not part.strip():
            continue
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            problem = f"expected key=value,key=value behind the colon, got {show(part.strip())}"
            raise ConfigError(kind, problem)
        if key in options:
            raise ConfigError(f"{kind}.{key}", "given twice; expected once")
        options[key] = _value(value)
    return kind, options


def _value(text: str) -> Any:
    if not _PLAIN.fullmatch(text):
        return text
    return int(text) if text.lstrip("-").isdecimal() else float(text)
