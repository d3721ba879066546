"""The findings of `diff` as text and JSON, bounded on request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from yantra.base.text import count, shortened
from yantra.chakra.trace import Trace
from yantra.tracing.inspect.diff import ABSENT, Change, Difference, NodeChange
from yantra.tracing.inspect.diff.compare import type_name

_LONGEST = 60
_CONTEXT = 20


def text(found: Difference, names: tuple[str, str], limit: int) -> str:
    if found.equal:
        return f"{names[0]} and {names[1]} are equal: {count(len(found.a), 'node')}\n"
    lines = [f"{names[0]}: {count(len(found.a), 'node')}"]
    lines.append(f"{names[1]}: {count(len(found.b), 'node')}")
    if found.metadata:
        lines += ["metadata", *(f"  {_line(change)}" for change in found.metadata[:limit])]
        lines += _more(found.metadata, limit, "change")
    lines += _renumbered(found)
    if found.moved:
        lines.append(f"order: {count(len(found.moved), 'node')} in another place of the file")
        lines += [f"  {_label(found.a, record)}" for record, _ in found.moved[:limit]]
        lines += _more(found.moved, limit, "node")
    for title, trace, records in (
        (f"only in {names[0]}", found.a, found.removed),
        (f"only in {names[1]}", found.b, found.added),
    ):
        if records:
            lines.append(f"{title}: {count(len(records), 'node')}")
            lines += [f"  {_label(trace, record)}" for record in records[:limit]]
            lines += _more(records, limit, "node")
    return "\n".join([*lines, *_changed(found, limit)]) + "\n"


def as_dict(found: Difference, names: tuple[str, str], limit: int | None) -> dict[str, Any]:
    ids = found.a.native.id, found.b.native.id
    return {
        "equal": found.equal,
        "files": list(names),
        "nodes": [len(found.a), len(found.b)],
        "counts": {
            "metadata": len(found.metadata),
            "renumbered": len(found.renumbered),
            "moved": len(found.moved),
            "removed": len(found.removed),
            "added": len(found.added),
            "changed": len(found.changed),
        },
        "fields": dict(_fields(found.changed)),
        "metadata": [_change(change) for change in found.metadata[:limit]],
        "renumbered": [[ids[0][at], ids[1][to]] for at, to in found.renumbered[:limit]],
        "moved": [[ids[0][at], ids[1][to]] for at, to in found.moved[:limit]],
        "removed": [_node(found.a, record) for record in found.removed[:limit]],
        "added": [_node(found.b, record) for record in found.added[:limit]],
        "changed": [
            {
                **_node(found.a, node.record),
                "other_id": ids[1][node.other],
                "changes": [_change(change) for change in node.changes],
            }
            for node in found.changed[:limit]
        ],
    }


def _renumbered(found: Difference) -> list[str]:
    if not found.renumbered:
        return []
    ids = found.a.native.id, found.b.native.id
    shifts = {ids[1][to] - ids[0][at] for at, to in found.renumbered}
    how = f", all by {shifts.pop():+d}" if len(shifts) == 1 else ""
    at, to = found.renumbered[0]
    first = f"the first is {ids[0][at]}, now {ids[1][to]}"
    return [f"ids: {count(len(found.renumbered), 'node')} renumbered{how}; {first}"]


def _changed(found: Difference, limit: int) -> list[str]:
    if not found.changed:
        return []
    fields = ", ".join(f"{field} {times}" for field, times in _fields(found.changed))
    lines = [f"changed: {count(len(found.changed), 'node')} ({fields})"]
    for node in found.changed[:limit]:
        other = found.b.native.id[node.other]
        renamed = "" if other == found.a.native.id[node.record] else f", now {other}"
        lines.append(f"  {_label(found.a, node.record)}{renamed}")
        lines += [f"    {_line(change)}" for change in node.changes[:limit]]
        lines += [f"  {line}" for line in _more(node.changes, limit, "change")]
    return lines + _more(found.changed, limit, "node")


def _fields(changed: Iterable[NodeChange]) -> list[tuple[str, int]]:
    return Counter(change.field for node in changed for change in node.changes).most_common()


def _line(change: Change) -> str:
    if change.field in ("data_deps", "ctrl_deps"):
        parts = [
            f"{sign} {shortened(', '.join(map(str, ids)), _LONGEST)}"
            for sign, ids in (("no longer", change.before), ("now also", change.after))
            if ids
        ]
        return f"{change.field}: {'; '.join(parts)}"
    before, after = _where_they_differ(repr(change.before), repr(change.after))
    return f"{change.field}: {before} -> {after}"


def _where_they_differ(before: str, after: str) -> tuple[str, str]:
    if max(len(before), len(after)) <= _LONGEST:
        return before, after
    same = next(
        (at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new),
        min(len(before), len(after)),
    )
    begin = max(0, same - _CONTEXT)
    dots = "..." if begin else ""
    old, new = (dots + shortened(text[begin:], _LONGEST) for text in (before, after))
    return old, new


def _more(items: Sequence[object], limit: int, noun: str) -> list[str]:
    return [f"  ... and {count(len(items) - limit, f'more {noun}')}"] if len(items) > limit else []


def _label(trace: Trace, record: int) -> str:
    native = trace.native
    return f"{native.id[record]} {native.name(record)!r} {type_name(native.type[record])}"


def _node(trace: Trace, record: int) -> dict[str, Any]:
    native = trace.native
    return {
        "id": native.id[record],
        "name": native.name(record),
        "type": type_name(native.type[record]),
    }


def _change(change: Change) -> dict[str, Any]:
    form: dict[str, Any] = {"field": change.field}
    for key, value in (("before", change.before), ("after", change.after)):
        if value is not ABSENT:
            form[key] = _plain(value)
    return form


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):
        return repr(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
