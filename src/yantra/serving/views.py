"""A served trace as a table of its requests, as a figure, and as a piece of a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from yantra.result.html import Bar, bars_html, rows_html
from yantra.result.table import Table
from yantra.serving.curves import within
from yantra.serving.measures import PERCENTILES, column
from yantra.serving.rows import columns
from yantra.serving.words import short, title, told, warnings

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from yantra.result.table import Column
    from yantra.serving.answer import Served
    from yantra.serving.measures import Objective

_SHOWN = {"ttft": "TTFT", "tpot": "TPOT", "e2e": "E2E"}
_COLOURS = {
    "queued": "#c0392b",
    "prefill": "#2f6fb2",
    "transfer": "#e08214",
    "admission": "#b39b45",
    "decode": "#2a9076",
    "preempted": "#d9699f",
    "recompute": "#9a5fb0",
}
_INCHES = (8.0, 4.5)


def table(served: Served) -> Table:
    found = columns(served)
    return Table(
        "requests", len(served.ran.requests), {name: _column(of) for name, of in found.items()}
    )


def _column(values: np.ndarray) -> Column:
    if values.dtype.kind != "f":
        return "whole", values.tolist
    return "real", lambda: [None if value != value else value for value in values.tolist()]


def html(served: Served) -> str:
    head = ("", "mean", *(f"p{p:g}" for p in PERCENTILES), "most")
    rows = []
    for name, words in (*_SHOWN.items(), ("itl", "ITL")):
        of = getattr(served, name)
        cells = (of.mean, *of.percentiles, of.most)
        rows.append((words, *("" if value != value else short(value) for value in cells)))
    spent = {name: seconds * 1e9 for name, seconds in served.spent.items()}
    bar = bars_html([Bar("a request", spent)], sum(spent.values()), _COLOURS)
    said = [*warnings(served), *told(served)]
    items = "".join(f"<li>{escape(line)}</li>" for line in said)
    first = escape(title(served))
    return f"<div><p><b>{first}</b></p>{rows_html(head, rows)}{bar}<ul>{items}</ul></div>"


def figure(served: Served, objectives: Sequence[Objective] = ()) -> Any:
    """Raises UnsupportedError without matplotlib."""
    from yantra.result.frames import needed

    figures = needed("matplotlib.figure", "plot", "plots")
    drawn = figures.Figure(figsize=_INCHES, layout="constrained")
    axes = drawn.add_subplot()
    for at, (name, words) in enumerate(_SHOWN.items()):
        values = column(served.ran, name)
        if not len(values):
            continue
        curve = within(values)
        colour = f"C{at}"
        axes.step(curve.at_ns / 1e6, 100 * curve.values, where="post", label=words, color=colour)
        for one in objectives:
            if one.measure == name:
                axes.axvline(one.seconds * 1e3, color=colour, linestyle="--", label=f"{one}")
    axes.set(xlabel="time (ms)", ylabel="requests within (%)", xscale="log", ylim=(0, 100))
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return drawn
