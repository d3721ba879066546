"""A job's communicators: from a group file, a node of PyTorch traces, or the ranks that use the
name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from yantra.base.documents import Path, json_value, parse_json, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.whole_numbers import whole
from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import Columns

WORLD = "0"
_MOST_RANKS = 1 << 24
Groups = dict[str, tuple[int, ...]]


class Declared(NamedTuple):
    """A process group in a rank's trace."""

    name: str
    ranks: tuple[int, ...]
    description: str


def read_group_file(path: Path) -> tuple[Groups, list[str]]:
    """Groups of a file, and warnings. Raises ConfigError for other files."""
    name = str(path)
    tree, warnings = parse_json(read_text(path), name)
    if not isinstance(tree, dict):
        raise ConfigError(name, expected_got('a JSON object such as {"1": [0, 1]}', tree))
    return {key: _members(members, f"{name}: {key}") for key, members in tree.items()}, warnings


def declared_groups(columns: Columns) -> list[Declared]:
    found: dict[Declared, None] = {}
    if NodeType.METADATA not in columns.type:
        return []
    for node, type in enumerate(columns.type):
        if type == NodeType.METADATA and "process_group" in columns.name(node):
            given = columns.native.inputs(columns.record[node])
            for item in process_groups(given[0] if given else ""):
                found[item] = None
    return list(found)


def used_groups(columns: Columns) -> set[str]:
    """Groups of the collectives of a rank."""
    if NodeType.COMM_COLL not in columns.type:
        return set()
    pairs = zip(columns.group, columns.type, strict=True)
    return {group for group, type in pairs if type == NodeType.COMM_COLL}


def inferred_groups(by_rank: Mapping[int, Columns]) -> Groups:
    return groups_of_users({rank: used_groups(columns) for rank, columns in by_rank.items()})


def groups_of_users(used: Mapping[int, Collection[str]]) -> Groups:
    """Groups by the ranks that use their names."""
    users: dict[str, list[int]] = {}
    for rank in sorted(used):
        for name in used[rank]:
            if name != WORLD:
                users.setdefault(name, []).append(rank)
    return {name: tuple(users[name]) for name in sorted(users, key=group_key)}


def group_key(name: str) -> tuple[int, str]:
    number = whole(name)
    return (1 << 62 if number is None else number, name)


def _members(members: Any, where: str) -> tuple[int, ...]:
    expected = "a list of different ranks"
    if not isinstance(members, list) or not members:
        raise ConfigError(where, expected_got(expected, members))
    for rank in members:
        if not isinstance(rank, int) or isinstance(rank, bool) or not 0 <= rank < _MOST_RANKS:
            raise ConfigError(where, expected_got("a rank, 0 or more", rank))
    if len(set(members)) < len(members):
        raise ConfigError(where, expected_got(expected, members))
    return tuple(members)


def process_groups(text: str) -> list[Declared]:
    import ast

    try:
        entries = json_value(ast.literal_eval(text)[0])
        return [_declared(entry) for entry in entries]
    except (ValueError, TypeError, SyntaxError, LookupError, AttributeError, OverflowError):
        return []
    except (MemoryError, RecursionError):
        return []


def _declared(entry: dict[str, Any]) -> Declared:
    ranks = [int(rank) for rank in entry.get("ranks", [])]
    if any(not 0 <= rank < _MOST_RANKS for rank in ranks):
        raise ValueError("no ranks")
    if not ranks:
        size = int(entry["group_size"])
        ranks = list(range(size)) if 0 < size <= _MOST_RANKS else []
    return Declared(str(entry["pg_name"]), tuple(ranks), str(entry.get("pg_desc", "")))
