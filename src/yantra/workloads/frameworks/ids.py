"""The id under which a model of the zoo is published."""

from __future__ import annotations

import re

from yantra.base.errors import ConfigError
from yantra.workloads.models.transformer import Transformer

_ID = re.compile(r"([\w.-]+/[\w.-]+) config\.json")


def id_of(model: Transformer) -> str:
    """Raises ConfigError for a model without one."""
    found = _ID.search(model.source)
    if found is None:
        raise ConfigError(f"model {model.name}", "has no published id, by which it is loaded")
    return found[1]
