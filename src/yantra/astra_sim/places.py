"""Errors about a scenario that came from ASTRA-sim's files, at the keys of these files.

The table of keys says which key gives a field; a field that no key gives alone is placed at the
file of its section.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from yantra.base.errors import ConfigError
from yantra.scenario.astra_sim_keys import FILES

_SECTIONS = (
    ("cluster.topology", "network", '"npus_count"'),
    ("cluster.fabric", "network", ""),
    ("network", "network", ""),
    ("cluster.device", "system", ""),
    ("cluster.memory", "memory", ""),
    ("collectives", "system", ""),
)
_ENTRY = re.compile(r"(cluster\.topology)(\[\d+\])")


def in_files(error: ConfigError, files: Mapping[str, str]) -> ConfigError:
    place = _place(error.where, files)
    return error if place is None else type(error)(place, error.problem)


def _place(where: str, files: Mapping[str, str]) -> str | None:
    entry = _ENTRY.match(where)
    field = _ENTRY.sub(r"\1[]", where)
    found = [
        (len(key.field), f'{files[kind]}: "{key.name}{entry[2] if entry else ""}"')
        for kind, keys in FILES.items()
        for key in keys
        if key.field and re.match(rf"{re.escape(key.field)}(?!\w)", field)
    ]
    if found:
        return max(found)[1]
    for section, kind, key_of_all in _SECTIONS:
        if where.startswith(section):
            return f"{files[kind]}: {key_of_all}".removesuffix(": ")
    return None
