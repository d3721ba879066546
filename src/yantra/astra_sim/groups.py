"""ASTRA-sim's communicator-group file (JSON): an object of id -> ranks, in the order of the group's
ring. Ids are read as C++'s `stoi` does; of two keys with one id the later in byte order counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.astra_sim.numbers import as_stoi
from yantra.base.documents import Path, parse_json, read_text
from yantra.base.errors import ConfigError, expected_got, show
from yantra.scenario.check import are_groups, check_members
from yantra.scenario.types import Groups

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGITS = 9  # of a plain id


def read_groups(
    path: Path, ranks: int, used: Callable[[], set[str] | None] | None = None
) -> tuple[Groups, list[str]]:
    """Read a group file for a cluster of `ranks`; also return the warnings.

    `used` gives the group names in the traces, or None if unknown. A group with wrong members is an
    error if used or unknown, else left out with a warning.
    """
    name = str(path)
    tree, warnings = parse_json(read_text(path), name)
    if not isinstance(tree, dict):
        raise ConfigError(name, expected_got('a JSON object such as {"1": [0, 1]}', tree))
    members_of = list(tree.values())
    ids = [int(key) for key in tree if key.isascii() and key.isdigit() and len(key) <= _DIGITS]
    if len({*ids, 0}) == len(tree) + 1 and are_groups(members_of, ranks):
        return tuple(sorted(zip(ids, map(tuple, members_of), strict=True))), warnings
    return _one_by_one(tree, ranks, name, used, warnings), warnings


def _one_by_one(
    tree: dict[str, Any],
    ranks: int,
    name: str,
    used: Callable[[], set[str] | None] | None,
    warnings: list[str],
) -> Groups:
    groups: dict[int, tuple[int, ...]] = {}
    errors: dict[int, ConfigError] = {}
    for key in sorted(tree, key=str.encode):
        where = f"{name}: {show(key)}"
        group = _group_id(key, where)
        if str(group) != key:
            warnings.append(f"{where}: is read as group {group}, as in ASTRA-sim")
        if group in groups or group in errors:
            warnings.append(f"{where}: group {group} is given twice; this one counts, as there")
            errors.pop(group, None)
        try:
            groups[group] = check_members(tree[key], ranks, where)
        except ConfigError as wrong:
            errors[group] = wrong
            groups.pop(group, None)
    if errors:
        names = None if used is None else used()
        for group, error in errors.items():
            if names is None or group in map(as_stoi, names):
                raise error
            warnings.append(f"{error}; no node names the group, so it is left out")
    return tuple(sorted(groups.items()))


def _group_id(key: str, where: str) -> int:
    group = as_stoi(key)
    if group is None or group < 0:
        expected = "a group id (a positive integer below 2147483648)"
        raise ConfigError(where, expected_got(expected, key))
    if group == 0:
        raise ConfigError(
            where,
            "group 0 cannot be defined, because pg_name 0 always means all ranks; "
            "use a positive id (ASTRA-sim aborts here)",
        )
    return group
