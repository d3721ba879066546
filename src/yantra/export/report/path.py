"""The critical path: by kind, by operation, and its stretches.

Tables join neighbouring steps of nodes of one name.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

from yantra.base.units import format_time
from yantra.export.report.bars import Piece, bar
from yantra.export.report.markup import Cell, Content, Head, Html, element, join, table
from yantra.export.report.run import Run
from yantra.result.critical_path import KINDS, Step, kind_text
from yantra.result.shares import percent, tenths
from yantra.tracing.inspect.names import normalised

MOST_STEPS = 60_000
_ROWS = 400


class Stretch(NamedTuple):
    """Neighbouring steps of nodes of one name; `kinds` has each kind's time in ns."""

    steps: list[Step]
    kinds: dict[str, float]

    @property
    def length_ns(self) -> float:
        return self.steps[-1].end_ns - self.steps[0].start_ns

    @property
    def main_kind(self) -> str:
        return max(self.kinds, key=lambda kind: self.kinds[kind])


class Path(NamedTuple):
    steps: tuple[Step, ...]
    stretches: list[Stretch]


def path_of(run: Run) -> Path | None:
    if not run.result.recorded:
        return None
    steps = run.result.critical_path.steps
    parts = [list(part) for _, part in groupby(steps, key=lambda step: step.name)]
    return Path(steps, [Stretch(part, by_kind(part)) for part in parts])


def section(run: Run, path: Path | None) -> Html:
    if path is None:
        text = (
            "This run was not recorded, so there is no critical path: use yantra run --report, or "
            "simulate(scenario, record=True) in Python."
        )
        return element("p", text, class_="note")
    return join([_operations(path), _stretches(path)])


def as_data(run: Run, path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    shown = list(path.steps)
    if len(shown) > MOST_STEPS:
        shown = [
            part.steps[0]._replace(kind=part.main_kind, end_ns=part.steps[-1].end_ns)
            for part in path.stretches
        ]
    columns = run.columns
    starts = [_ticks(run, step.start_ns) for step in shown]
    ends = [_ticks(run, step.end_ns) for step in shown]
    columns.add("path.kind", [KINDS.index(step.kind) for step in shown], delta=False)
    columns.add("path.rank", [-1 if step.rank is None else step.rank for step in shown])
    columns.add_texts("path.node", [None if s.node is None else str(s.node) for s in shown])
    columns.add_texts("path.name", [step.name for step in shown])
    columns.add("path.start", starts)
    columns.add("path.end", ends)
    columns.add("path.peer", [-1 if step.peer is None else step.peer for step in shown])
    return {"kinds": list(KINDS), "steps": len(shown)}


def by_kind(steps: Iterable[Step]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for step in steps:
        sums[step.kind] = sums.get(step.kind, 0) + step.end_ns - step.start_ns
    return {kind: sums[kind] for kind in KINDS if kind in sums}


def by_kind_bar(path: Path) -> Html:
    """A bar of the path's kinds of step, and what each kind is."""
    sums = by_kind(path.steps)
    whole = sum(sums.values())
    pieces = [Piece(kind_text(kind), f"step-{kind}", length) for kind, length in sums.items()]
    keys = [
        element(
            "li",
            element("span", class_=f"swatch step-{kind}"),
            f"{kind_text(kind)}: {format_time(length)}, {percent(share)}",
            class_="key",
        )
        for (kind, length), share in zip(sums.items(), tenths(list(sums.values())), strict=True)
    ]
    told = "; ".join(f"{kind_text(kind)} {format_time(length)}" for kind, length in sums.items())
    picture = element("div", bar(pieces, whole, told, format_time), class_="tall")
    return join([picture, element("ul", *keys, class_="legend list")])


def _operations(path: Path) -> Html:
    sums: dict[str, list[Any]] = {}
    for part in path.stretches:
        known = sums.setdefault(normalised(part.steps[0].name), [0, 0.0, {}])
        known[0] += 1
        known[1] += part.length_ns
        for kind, length in part.kinds.items():
            known[2][kind] = known[2].get(kind, 0) + length
    whole = sum(length for _, length, _ in sums.values()) or 1
    heads = [
        Head("operation", False, "a * stands for the numbers in names"),
        Head("times"),
        Head("on the path"),
        Head("share"),
        Head("of which", False),
    ]
    ordered = sorted(sums.items(), key=lambda item: -item[1][1])
    rows = [
        [
            name or "(nothing)",
            Cell(f"{count:,}", count),
            Cell(format_time(length), length),
            Cell(f"{100 * length / whole:.1f} %", length),
            _shares(kinds, length),
        ]
        for name, (count, length, kinds) in ordered
    ]
    return table("Operations by their time on the critical path", heads, rows)


def _stretches(path: Path) -> Html:
    heads = [
        Head("stretch"),
        Head("node", False),
        Head("ranks", False, "the first and the last on the path"),
        Head("start"),
        Head("length"),
        Head("of which", False),
    ]
    parts = path.stretches
    longest = sorted(range(len(parts)), key=lambda at: -parts[at].length_ns)[:_ROWS]
    rows = [_stretch_cells(at, parts[at]) for at in sorted(longest)]
    name = "The critical path from the start to the end of the run"
    if len(parts) > _ROWS:
        name = f"The {_ROWS} longest of {len(parts):,} stretches of the critical path"
    return table(name, heads, rows)


def _stretch_cells(at: int, part: Stretch) -> list[Cell | Content]:
    first, last = part.steps[0], part.steps[-1]
    ends = dict.fromkeys(f"{step.rank}" for step in (first, last) if step.rank is not None)
    button = element(
        "button",
        first.name or "(nothing)",
        type="button",
        class_="to-node",
        data_rank=first.rank,
        data_node=first.node,
    )
    return [
        Cell(f"{at:,}", at),
        button,
        " to ".join(ends),
        Cell(format_time(first.start_ns), first.start_ns),
        Cell(format_time(part.length_ns), part.length_ns),
        _shares(part.kinds, part.length_ns),
    ]


def _shares(kinds: dict[str, float], whole: float) -> str:
    ordered = sorted(kinds.items(), key=lambda item: -item[1])
    return ", ".join(
        f"{kind_text(kind)} {100 * length / whole:.0f} %"
        for kind, length in ordered
        if length >= 0.005 * whole and whole
    )


def _ticks(run: Run, ns: float) -> int:
    return round(ns * run.ticks_per_ns)
