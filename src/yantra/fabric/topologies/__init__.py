"""Topologies: the links and routes of one dimension."""

from __future__ import annotations

from yantra.base.errors import ConfigError, expected_got
from yantra.base.plugin_files import Named, split_path
from yantra.base.registry import Registry
from yantra.fabric.topologies.topology import Block

topologies: Registry[type[Block]] = Registry(
    "topology", "yantra.fabric.topologies", "yantra.topologies", base=Block
)

_LONGEST_NAME = 60
_LONGEST_NUMBER = 5  # digits


def find(name: Named, where: str | None = None) -> Block:
    """Return the block of a name such as `mesh`, `two_level_tree` or `two_level_tree4`.

    It may also be a file (`./mine.py`, or `./mine.py:4` with a number) or a class. `where` is the
    field that an unknown name or an impossible number is reported at.
    """
    if isinstance(name, type):
        return topologies.get(name, where)()
    is_long = len(name) > _LONGEST_NAME and split_path(name) is None
    if not name.isprintable() or is_long:
        raise ConfigError(where or topologies.kind, expected_got("the name of a topology", name))
    base, digits = topologies.split(name)
    block = topologies.get(base, where)
    if not digits:
        return block()
    if not block.number_means:
        raise ConfigError(
            where or topologies.kind, f"'{base}' takes no number; expected '{base}', got '{name}'"
        )
    if not digits.isdecimal() or len(digits) > _LONGEST_NUMBER or int(digits) == 0:
        raise ConfigError(
            where or topologies.kind,
            f"'{name}' has an impossible number; expected 1 to {'9' * _LONGEST_NUMBER} "
            f"{block.number_means}, got {digits}",
        )
    return block(int(digits))
