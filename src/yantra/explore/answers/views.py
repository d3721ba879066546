"""The plans of an answer as a table, a figure with intervals, and HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from yantra.base.units import format_time
from yantra.explore.answers.words import count_words, fields, head, rows, split_of, why
from yantra.export.intervals import bars
from yantra.result import Table
from yantra.result.html import rows_html

if TYPE_CHECKING:
    from yantra.explore.answers.best import Answer
    from yantra.explore.answers.ranked import Ranked
    from yantra.result.columns import Kind
    from yantra.result.table import Column

_NUMBERS: dict[str, Callable[[Ranked], float | None]] = {
    "time_ns": lambda one: one.time_ns,
    "time_low_ns": lambda one: None if one.sure is None else one.time_ns * one.sure.low,
    "time_high_ns": lambda one: None if one.sure is None else one.time_ns * one.sure.high,
    "wins": lambda one: None if one.sure is None else one.sure.wins,
    "mfu": lambda one: one.mfu,
    "tokens_per_s": lambda one: one.tokens_per_s,
    "memory_bytes": lambda one: one.memory_bytes,
    "cost_usd": lambda one: one.cost_usd,
    "usd_per_million_tokens": lambda one: one.usd_per_million_tokens,
    "kwh_per_million_tokens": lambda one: one.kwh_per_million_tokens,
}


def table(answer: Answer) -> Table:
    """Return a row for each plan, fastest first: figures and fields.

    Times in ns; no interval if the stack states none.
    """
    ranked = answer.ranked
    columns: dict[str, Column] = {}
    for name, of in _NUMBERS.items():
        columns[name] = _column("whole" if name == "memory_bytes" else "real", ranked, of)
    for name in answer.shown:
        values = [split_of(one, answer.shown)[name] for one in ranked]
        is_whole = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
        columns[name] = _fixed("whole", values) if is_whole else _fixed("text", map(str, values))
    return Table("plans", len(ranked), columns)


def _column(kind: Kind, ranked: Sequence[Ranked], of: Callable[[Ranked], float | None]) -> Column:
    return kind, lambda: [of(one) for one in ranked]


def _fixed(kind: Kind, values: Any) -> Column:
    kept = list(values)
    return kind, lambda: kept


def html(answer: Answer) -> str:
    best = answer.ranked[0]
    first = f"{format_time(best.time_ns)} a step at best, on {answer.cluster}"
    return (
        f"<div><p><b>{escape(first)}</b><br>{escape(count_words(answer))}</p>"
        f"{rows_html((*head(answer), *fields(answer)), rows(answer))}"
        f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in why(answer))}</ul></div>"
    )


def figure(answer: Answer) -> Any:
    names = [_name(one, answer.shown) for one in answer.ranked]
    spans = [
        None if one.sure is None else (one.time_ns * one.sure.low, one.time_ns * one.sure.high)
        for one in answer.ranked
    ]
    return bars(names, [one.time_ns for one in answer.ranked], spans, answer.cluster)


def _name(one: Ranked, shown: Sequence[str]) -> str:
    split = split_of(one, shown).items()
    return " ".join(f"{name} {value}" for name, value in split if value not in (1, "none", None))
