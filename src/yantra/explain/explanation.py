"""Why a run takes as long as it does: the facts that a result's JSON form and its bounds hold.

`Explanation.data` is what `yantra explain --json` prints, `Explanation.text` the same in words.
Times are sums over the critical path or the table of ranks, and every bound is a run. Phases are
the traces' attribute `phase` (forward, backward, ...); without it, four equal windows.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import pairwise
from typing import Any

from yantra.explain.parts import merged, total
from yantra.explain.sums import sums_of_ranks
from yantra.explain.what_if import WhatIf
from yantra.export.stored import Form, table_in
from yantra.result.path import ns_of, ps_of

WINDOWS = 4
_MOST_NAMES = 10
_MOST_RANKS = 10
_NO_PHASE = "no phase"


class Explanation:
    """Why a run takes as long as it does; `data` as JSON, `text()` in words."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        """Plain values; `yantra explain --json` prints them."""

    def __repr__(self) -> str:
        return f"<Explanation: {self.data['bound_by']['text']}; .text() says it all>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"

    def text(self) -> str:
        """Words and tables, at most 80 columns wide, without a final newline."""
        from yantra.explain.words import words

        return words(self.data)


def explained(form: Form, bounds: WhatIf | None = None, notes: tuple[str, ...] = ()) -> Explanation:
    path = form.get("critical_path")
    return Explanation(
        {
            "format": "yantra-explanation",
            "version": 1,
            "what_ran": form.get("what_ran"),
            "figures": form.get("figures") or {},
            "makespan_ns": form["makespan_ns"],
            "bound_by": bounds.bound_by._asdict() if bounds else form["bound_by"],
            "ranks": _ranks(form),
            "critical_path": _path(path) if path else None,
            "phases": phases(path) if path else [],
            "what_if": _bounds(bounds) if bounds else None,
            "next": _next(bounds) if bounds else None,
            "collectives": None,
            "notes": list(notes),
        }
    )


def phases(path: Mapping[str, Any]) -> list[dict[str, Any]]:
    named: Mapping[str, Mapping[str, float]] = path.get("by_phase") or {}
    parts = {name or _NO_PHASE: kinds for name, kinds in named.items()} or _windows(path)
    return [
        {"name": name, "length_ns": total(kinds), "by_kind": dict(kinds)}
        for name, kinds in parts.items()
        if kinds
    ]


def _windows(path: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    steps = path.get("steps")
    length = ps_of(path["length_ns"])
    if not steps or not length:
        return {}
    borders = [length * at // WINDOWS for at in range(WINDOWS + 1)]
    windows: list[list[dict[str, float]]] = [[] for _ in range(WINDOWS)]
    for kind, start, end in zip(steps["kind"], steps["start_ns"], steps["end_ns"], strict=True):
        first, last = ps_of(start), ps_of(end)
        for at, (left, right) in enumerate(pairwise(borders)):
            inside = min(last, right) - max(first, left)
            if inside > 0:
                windows[at].append({kind: ns_of(inside)})
    return {f"quarter {at + 1} of the time": merged(parts) for at, parts in enumerate(windows)}


def _path(path: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: path[name] for name in ("length_ns", "by_kind") if name in path}
    told |= {name: path[name] for name in ("crossings", "step_count", "folded") if name in path}
    for name, most in (("by_name", _MOST_NAMES), ("by_rank", _MOST_RANKS)):
        if name in path:
            told[name] = dict(list(path[name].items())[:most])
            told[f"{name}_in_all"] = len(path[name])
    return told


def _ranks(form: Form) -> dict[str, Any] | None:
    table = table_in(form, "ranks")
    if not table or "rank" not in table.columns:
        return None
    count = len(table)
    sums = sums_of_ranks(table, form["makespan_ns"])
    computing = table.values("compute_ns") if "compute_ns" in table.columns else []
    told: dict[str, Any] = {
        "count": count,
        "mean_ns": {part: ns_of(ps) / count for part, ps in sums.items()},
    }
    if computing:
        longest = max(range(count), key=lambda at: computing[at])
        told["computes_longest"] = {
            "rank": table.values("rank")[longest],
            "ns": computing[longest],
        }
        told["median_compute_ns"] = sorted(computing)[(count - 1) // 2]
    return told


def _bounds(bounds: WhatIf) -> list[dict[str, Any]]:
    return [row._asdict() | {"causes": list(row.causes)} for row in bounds.rows]


def _next(bounds: WhatIf) -> dict[str, Any] | None:
    if bounds.best is None or bounds.next is None:
        return None
    told = {
        "without": bounds.best.name,
        "text": bounds.best.text,
        "makespan_ns": bounds.next.makespan_ns,
        "bound_by": bounds.next.bound_by._asdict(),
    }
    if bounds.next.recorded:
        path = bounds.next.critical_path
        kinds = path.by_kind()
        told["by_kind"] = merged([{kind: kinds[kind] for kind in path.kinds()}])
    return told
