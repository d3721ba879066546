"""Topologies: how the ranks of one dimension are linked, and where messages go. No time in here."""

from __future__ import annotations

import re

from yantra.errors import ConfigError, expected_got
from yantra.registry import Registry
from yantra.topologies.topology import Block

topologies: Registry[type[Block]] = Registry("topology", "yantra.topologies", "yantra.topologies")

_LONGEST_NAME = 60
_LONGEST_NUMBER = 5  # digits


def find(name: str, where: str | None = None) -> Block:
    """Return the block of a name such as `mesh`, `two_level_tree` or `two_level_tree4`.

    `where` is the field that an unknown name or an impossible number is reported at.
    """
    where = where or topologies.kind
    if not name.isprintable() or len(name) > _LONGEST_NAME:
        raise ConfigError(where, expected_got("the name of a topology", name))
    numbered = re.fullmatch(r"(.*[^0-9])([0-9]+)", name)
    if numbered is None or name in topologies.names():
        return topologies.get(name, where)()
    base, digits = numbered.groups()
    block = topologies.get(base, where)
    if not block.number_means:
        raise ConfigError(where, f"'{base}' takes no number; expected '{base}', got '{name}'")
    if len(digits) > _LONGEST_NUMBER or int(digits) == 0:
        raise ConfigError(
            where,
            f"'{name}' has an impossible number; expected 1 to {'9' * _LONGEST_NUMBER} "
            f"{block.number_means}, got {digits}",
        )
    return block(int(digits))
