"""Results beside each other in words: changes against the first, then the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from yantra.base.text import Grid, filled
from yantra.base.units import format_time
from yantra.explain.compare_words import intervals_meet, sentences, signed, value_of
from yantra.explain.joined import Data, Joined, joined, values
from yantra.explain.named import figure_cells, ran_text
from yantra.explain.parts import block
from yantra.result.critical_path import kind_text
from yantra.result.parts import text_of

_SHOWN = 8


def words(pairs: Sequence[Data]) -> str:
    sides = [pairs[0]["a"], *(data["b"] for data in pairs)]
    ran = [filled(f"{side['name']}: {ran_text(side)}") for side in sides if ran_text(side)]
    blocks = ["\n".join(ran)] if ran else []
    blocks += [filled(" ".join(sentences(data))) for data in pairs]
    blocks += [filled(text) for text in sure_of_others(pairs)]
    grids = [
        ("Figures", _figures(pairs)),
        ("What differs in the scenario", _fields(pairs)),
        ("Critical path by kind", _kinds(pairs)),
        ("Critical path by phase", _phases(pairs)),
        ("Where the time of the average rank goes", _parts(pairs)),
    ]
    blocks += [block(title, grid) for title, grid in grids if grid.rows]
    missing = dict.fromkeys(text for data in pairs for text in data["missing"])
    blocks += [filled(f"missing: {text}") for text in missing]
    return "\n\n".join(blocks)


def sure_of_others(pairs: Sequence[Data]) -> list[str]:
    """Say in one text which results after the first their 90 % intervals tell apart."""
    found: dict[bool, list[str]] = {}
    for one, other in combinations((data["b"] for data in pairs), 2):
        if (meet := intervals_meet(one, other)) is not None:
            found.setdefault(meet, []).append(f"{one['name']} and {other['name']}")
    heads = {True: "Others within their 90 % intervals", False: "Others with intervals apart"}
    told = [f"{head}: {', '.join(found[meet])}." for meet, head in heads.items() if meet in found]
    return [" ".join(told)] if told else []


def _names(pairs: Sequence[Data]) -> list[str]:
    return [pairs[0]["a"]["name"], *(data["b"]["name"] for data in pairs)]


def _heads(pairs: Sequence[Data], head: str) -> tuple[str, ...]:
    first, *others = _names(pairs)
    return (head, first, *(text for name in others for text in (name, "change")))


def _figures(pairs: Sequence[Data]) -> Grid:
    rows = figure_cells([data["figures"] for data in pairs])
    return Grid(_heads(pairs, "figure"), [tuple(row) for row in rows])


def _fields(pairs: Sequence[Data]) -> Grid:
    found = values(pairs, "scenario", "field")
    rows = [(field, *map(value_of, told)) for field, *told in found]
    left = len(rows) - _SHOWN
    if left > 0:
        blank = [""] * (len(pairs) + 1)
        rows = [*rows[:_SHOWN], (f"({left} more; --report has them)", *blank)]
    return Grid(("field", *_names(pairs)), rows)


def _kinds(pairs: Sequence[Data]) -> Grid:
    if not all(data["critical_path"] for data in pairs):
        return Grid((), [])
    rows = joined(pairs, lambda data: data["critical_path"]["by_kind"], lambda row: row["kind"])
    return _grid(pairs, "kind", [(kind_text(one.known["kind"]), one) for one in rows])


def _phases(pairs: Sequence[Data]) -> Grid:
    def rows_of(data: Data) -> list[dict[str, object]]:
        return (data["critical_path"] or {}).get("by_phase", [])  # type: ignore[no-any-return]

    rows = joined(pairs, rows_of, lambda row: row["phase"])
    named = [(one.known["phase"] or "(no phase)", one) for one in rows]
    return _grid(pairs, "phase", named[:_SHOWN])


def _parts(pairs: Sequence[Data]) -> Grid:
    rows = joined(pairs, lambda data: data["ranks"], lambda row: row["part"])
    named = [(text_of(one.known["part"]), one) for one in rows]
    return _grid(pairs, "part", named)


def _grid(pairs: Sequence[Data], head: str, rows: Sequence[tuple[str, Joined]]) -> Grid:
    shown = [(name, *_cells(one)) for name, one in rows if any(one.times)]
    return Grid(_heads(pairs, head), shown)


def _cells(one: Joined) -> Iterator[str]:
    yield format_time(one.times[0])
    for time, change in zip(one.times[1:], one.changes, strict=True):
        yield format_time(time)
        yield signed(change)
