"""ASTRA-sim's communicator-group file (JSON) -> groups.

An object of id -> ranks. The order of the ranks is the order of the group's ring. The id 0 and the
empty name stand for all ranks in traces, so a file may not define them (ASTRA-sim aborts).
"""

from __future__ import annotations

from yantra.base.documents import Path, parse_json, read_text
from yantra.base.errors import ConfigError, expected_got, show
from yantra.scenario.check import are_groups, check_members
from yantra.scenario.types import Groups

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DIGITS = 9  # of an id


def read_groups(path: Path, ranks: int) -> tuple[Groups, list[str]]:
    """Read a group file for a cluster of `ranks`; also return the warnings."""
    name = str(path)
    tree, warnings = parse_json(read_text(path), name)
    if not isinstance(tree, dict):
        raise ConfigError(name, expected_got('a JSON object such as {"1": [0, 1]}', tree))
    members_of = list(tree.values())
    ids = [int(key) for key in tree if key.isascii() and key.isdigit() and len(key) <= _DIGITS]
    if len({*ids, 0}) == len(tree) + 1 and are_groups(members_of, ranks):
        return tuple(sorted(zip(ids, map(tuple, members_of), strict=True))), warnings
    return _one_by_one(tree, ranks, name), warnings


def _one_by_one(tree: dict[str, Any], ranks: int, name: str) -> Groups:
    """Read groups of which one is not as it should be, to say which."""
    groups: dict[int, tuple[int, ...]] = {}
    for key, members in tree.items():
        where = f"{name}: {show(key)}"
        group = _group_id(key, where)
        if group in groups:
            raise ConfigError(where, f"group {group} is given twice")
        groups[group] = check_members(members, ranks, where)
    return tuple(sorted(groups.items()))


def _group_id(key: str, where: str) -> int:
    if not key.isascii() or not key.isdigit() or len(key) > _DIGITS:
        raise ConfigError(where, expected_got("a group id (a positive integer)", key))
    if int(key) == 0:
        raise ConfigError(
            where,
            "group 0 cannot be defined, because pg_name 0 always means all ranks; "
            "use a positive id (ASTRA-sim aborts here)",
        )
    return int(key)
