"""`diff`: how two traces differ.

Nodes are paired by id, or by content and position (`match`) if that leaves fewer differences.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from yantra.base.errors import ConfigError, did_you_mean
from yantra.chakra.trace import Trace
from yantra.tracing.inspect.diff.compare import (
    ABSENT,
    Change,
    Comparison,
    NodeChange,
    attribute_changes,
)
from yantra.tracing.inspect.diff.match import Match, by_content, by_id, longest_increasing
from yantra.tracing.inspect.diff.side import PARTS, Numbers, Side

__all__ = ["ABSENT", "Change", "Difference", "NodeChange", "diff"]

_ALWAYS_BOTH = 1000  # nodes up to which both pairings are tried
_FEW = 20  # ids agree if fewer than one node in this many differs


class Difference(NamedTuple):
    """Records by position in the two traces.

    `renumbered`: pairs of unequal ids, `moved`: pairs in another order, `removed`, `added`: without
    counterpart in the second, first trace.
    """

    a: Trace
    b: Trace
    metadata: tuple[Change, ...] = ()
    renumbered: tuple[tuple[int, int], ...] = ()
    moved: tuple[tuple[int, int], ...] = ()
    removed: tuple[int, ...] = ()
    added: tuple[int, ...] = ()
    changed: tuple[NodeChange, ...] = ()

    @property
    def equal(self) -> bool:
        return not any(self[2:])

    @property
    def weight(self) -> tuple[int, int]:
        unpaired = len(self.removed) + len(self.added)
        return len(self.changed) + unpaired + bool(self.renumbered), unpaired


def diff(a: Trace, b: Trace, ignore: Collection[str] = ()) -> Difference:
    """Compare two traces; `ignore` names parts (`ids`, `order`, `metadata`), fields and attributes.

    Raises ConfigError for an unknown name.
    """
    ignored = frozenset(ignore)
    if a == b:
        _check_ignored(ignored, a, b)
        return Difference(a, b)
    numbers = Numbers()
    sides = Side(a, numbers, ignored), Side(b, numbers, ignored)
    _check_ignored(ignored, a, b)
    found = _compared(*sides, by_id(*sides))
    nodes = max(len(a), len(b))
    if found.weight[0] > 1 and (nodes <= _ALWAYS_BOTH or found.weight[0] * _FEW > nodes):
        other = _compared(*sides, by_content(*sides))
        if other.weight < found.weight:
            found = other
    if "metadata" not in ignored:
        found = found._replace(metadata=_metadata(a, b, ignored))
    return found


def _compared(a: Side, b: Side, match: Match) -> Difference:
    pairs = [(record, other) for record, other in enumerate(match) if other is not None]
    matched = {other for _, other in pairs}
    comparison = Comparison(a, b, match)
    changed = []
    for record, other in pairs:
        if comparison.keeps_ids and a.bytes[record] == b.bytes[other]:
            continue
        changes = comparison.changes(record, other)
        if changes:
            changed.append(NodeChange(record, other, changes))
    renumbered = [(at, to) for at, to in pairs if a.ids[at] != b.ids[to]]
    return Difference(
        a.trace,
        b.trace,
        renumbered=() if "ids" in a.ignore else tuple(renumbered),
        moved=() if "order" in a.ignore else _moved(pairs),
        removed=tuple(record for record, other in enumerate(match) if other is None),
        added=tuple(other for other in range(b.count) if other not in matched),
        changed=tuple(changed),
    )


def _moved(pairs: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    # The fewest pairs without which the others keep their order.
    stay = set(longest_increasing([other for _, other in pairs]))
    return tuple(pair for at, pair in enumerate(pairs) if at not in stay)


def _metadata(a: Trace, b: Trace, ignored: frozenset[str]) -> tuple[Change, ...]:
    found = []
    if a.native.version != b.native.version and "version" not in ignored:
        found.append(Change("version", a.native.version, b.native.version))
    rows = ([row for row in side.native.metadata if row[0] not in ignored] for side in (a, b))
    return (*found, *attribute_changes(*rows))


def _check_ignored(ignored: frozenset[str], a: Trace, b: Trace) -> None:
    unknown = ignored - set(PARTS) - {"version"}
    if not unknown:
        return
    names: set[str] = set()
    for trace in (a, b):
        names.update(row[0] for row in trace.native.metadata)
        for record in range(len(trace)):
            names.update(row[0] for row in trace.native.attributes(record))
    for name in sorted(unknown - names):
        hint = did_you_mean(name, sorted(names | set(PARTS)))
        expected = f"one of {', '.join(PARTS)} or an attribute of the traces"
        raise ConfigError("ignore", f"expected {expected}, got {name!r}{hint}")
