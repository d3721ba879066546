"""The critical path in a result's JSON form: its sums and its steps, joined by node where there are
too many.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from yantra.result.critical_path import Step

MOST_STEPS = 10_000
MIXED = "mixed"  # the kind of several joined steps
_PS_PER_NS = 1000

PhaseOf = Callable[[int | None, int | None], str]
"""A node's phase, by rank and id; empty if its trace names none."""


class _Sums:
    def __init__(self) -> None:
        self._ps: dict[str, dict[str, int]] = {}

    def add(self, key: str, kind: str, ps: int) -> None:
        kinds = self._ps.setdefault(key, {})
        kinds[kind] = kinds.get(kind, 0) + ps

    def form(self) -> dict[str, dict[str, float]]:
        def total(item: tuple[str, dict[str, int]]) -> int:
            return -sum(item[1].values())

        return {
            key: {kind: ns_of(ps) for kind, ps in sorted(kinds.items(), key=lambda kind: -kind[1])}
            for key, kinds in sorted(self._ps.items(), key=total)
        }


def path_form(steps: Sequence[Step], phase_of: PhaseOf, most: int = MOST_STEPS) -> dict[str, Any]:
    """The member `critical_path` of the JSON form.

    `crossings` counts continuations at another rank's node, without hops inside a collective, which
    a folded run does not see whole.
    """
    parts: dict[tuple[int | None, int | None, str, str], int] = {}
    crossings = 0
    before: Step | None = None
    for step in steps:
        key = (step.rank, step.node, step.name, step.kind)
        parts[key] = parts.get(key, 0) + ps_of(step.end_ns) - ps_of(step.start_ns)
        crossings += before is not None and _crosses(before, step)
        before = step
    kinds, phases, names, ranks = _Sums(), _Sums(), _Sums(), _Sums()
    for (rank, node, name, kind), ps in parts.items():
        kinds.add("", kind, ps)
        phases.add(phase_of(rank, node), kind, ps)
        names.add(family(name), kind, ps)
        ranks.add(_text(rank), kind, ps)
    by_phase = phases.form()
    form = {
        "length_ns": ns_of(sum(parts.values())),
        "by_kind": kinds.form().get("", {}),
        "by_name": names.form(),
        "by_rank": ranks.form(),
        "crossings": crossings,
        "step_count": len(steps),
        "steps": _columns(_joined(steps, most)),
    }
    return form | ({"by_phase": by_phase} if any(by_phase) else {})


def family(name: str) -> str:
    """The common name of nodes that differ in numbers: `layers.*.mlp.down`."""
    return re.sub(r"[0-9]+", "*", name)


def _joined(steps: Sequence[Step], most: int) -> list[list[Any]]:
    """First parts of one node, then all of a node or collective, then neighbours."""
    rows = _join(_rows(steps), lambda a, b: a[:4] == b[:4])
    if len(rows) > most:
        rows = _join(rows, lambda a, b: a[3] == b[3])
    while len(rows) > most:
        pairs = zip(rows[::2], [*rows[1::2], None], strict=False)
        rows = [row for a, b in pairs for row in _join([a, b] if b else [a], lambda a, b: True)]
    return rows


def _rows(steps: Iterable[Step]) -> list[list[Any]]:
    return [list(step) for step in steps]


def _join(
    rows: list[list[Any]], together: Callable[[list[Any], list[Any]], bool]
) -> list[list[Any]]:
    joined: list[list[Any]] = []
    for row in rows:
        if not joined or not together(joined[-1], row):
            joined.append(list(row))
            continue
        last = joined[-1]
        last[0] = last[0] if last[0] == row[0] else MIXED
        last[1] = last[1] if last[1] == row[1] else None
        last[2] = last[2] if last[2] == row[2] else None
        last[3] = last[3] if last[3] == row[3] else ""
        last[5] = row[5]
        last[6] = last[6] if last[6] == row[6] else None
        last[7] = last[7] if last[7] == row[7] else None
    return joined


def _columns(rows: list[list[Any]]) -> dict[str, list[Any]]:
    return {name: [row[at] for row in rows] for at, name in enumerate(Step._fields)}


def _crosses(before: Step, step: Step) -> bool:
    return step.rank != before.rank and step.name != before.name


def _text(rank: int | None) -> str:
    return "" if rank is None else str(rank)


def ps_of(ns: float) -> int:
    return round(ns * _PS_PER_NS)


def ns_of(ps: int) -> float:
    whole, rest = divmod(ps, _PS_PER_NS)
    return ps / _PS_PER_NS if rest else whole
