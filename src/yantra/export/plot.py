"""Result -> a figure of matplotlib: link load, bandwidth against size, Gantt; extra `plots`.

A written path's ending gives the form (`.svg`, `.pdf`, `.png`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import cycle
from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError, did_you_mean
from yantra.base.output import Path, whole_file
from yantra.base.text import count
from yantra.base.units import format_size
from yantra.chakra.schema import NODE_TRAITS
from yantra.export.exporter import Exporter
from yantra.export.stored import StoredResult
from yantra.result import Result, Table
from yantra.result.frames import needed

if TYPE_CHECKING:
    from yantra.result.link_load import LinkName

_FORMS = ("svg", "pdf", "png")
_MOST_LINKS = 40
_MOST_RANKS = 16
INCHES = (8.0, 4.5)
_MOST_LABELS = 8  # along an axis
_STRETCHES = 1500  # separate stretches of a run in a figure: two thirds of a pixel at 150 dpi
_PALETTE = ("#2f6fb2", "#e08214", "#f2b866", "#b39b45", "#9a5fb0", "#8c6d4f")
_BY_TYPE = {
    type.name: (traits.word, colour)
    for (type, traits), colour in zip(NODE_TRAITS.items(), cycle(_PALETTE), strict=False)
}
_POSTED = "COMM_RECV"
"""Not drawn: from when it is posted it waits; its data moves while the other rank sends."""
_BACKWARD = "backward"
_OF_BACKWARD = (".dgrad", ".wgrad", ".grad.add")  # ends of names in Yantra's own steps
_COLOURS = {"COMP": _BY_TYPE["COMP"], _BACKWARD: ("backward compute", "#7a5195"), **_BY_TYPE}


class Plot(Exporter):
    """One of FIGURES, or columns of a table."""

    def write(
        self, result: Result | StoredResult, path: Path, figure: str = "gantt", **options: Any
    ) -> list[str]:
        _form(path)
        drawn, notes = _drawn(result, figure)
        save(drawn, path)
        return notes

    def figure(self, result: Result | StoredResult, figure: str) -> Any:
        return _drawn(result, figure)[0]

    def table(self, table: Table, x: str, y: tuple[str, ...]) -> Any:
        for column in (x, *y):
            if table.kind(column) == "text":
                raise ConfigError(f"table {table.name}", f"column '{column}' is text, not numbers")
        figure, axes = _axes()
        for column in y:
            axes.plot(table[x], table[column], marker=".", linestyle="none", label=column)
        axes.set(xlabel=x, ylabel=y[0] if len(y) == 1 else "", title=table.name)
        if len(y) > 1:
            axes.legend()
        return figure


def _form(path: Path) -> str:
    form = os.path.splitext(os.fspath(path))[1].lstrip(".").lower()
    if form not in _FORMS:
        raise ConfigError(
            os.fspath(path), f"expected a name in {', '.join('.' + one for one in _FORMS)}"
        )
    return form


def save(drawn: Any, path: Path) -> None:
    """Write a figure in the form that the path's ending says."""
    form = _form(path)
    with whole_file(path) as name:
        drawn.savefig(name, format=form)


def figures_of_matplotlib() -> Any:
    """Return `matplotlib.figure`, without the windows of pyplot."""
    return needed("matplotlib.figure", "plot", "plots")


def _drawn(result: Result | StoredResult, figure: str) -> tuple[Any, list[str]]:
    if figure not in FIGURES:
        hint = did_you_mean(figure, FIGURES) or f"; there are {', '.join(FIGURES)}"
        raise ConfigError("plot", f"no figure is named '{figure}'{hint}")
    drawn, axes = _axes()
    notes = FIGURES[figure](result, axes)
    ran = result.what_ran
    axes.set_title(ran.short if ran else "", fontsize="medium")  # missing in older files
    return drawn, notes


def _axes() -> tuple[Any, Any]:
    figure = figures_of_matplotlib().Figure(figsize=INCHES, layout="constrained")
    return figure, figure.add_subplot()


def _links(result: Result | StoredResult, axes: Any) -> list[str]:
    loads = result.links.values("busy")
    if not loads:
        uses = result.dimension_uses
        names, busy = [use.label for use in uses], [use.busy for use in uses]
        notes = ["this network keeps no links, so the figure has its dimensions"]
    else:
        order = sorted(range(len(loads)), key=lambda at: -loads[at])[:_MOST_LINKS]
        all_names = _link_names(result)
        names, busy = [all_names[at].text for at in order], [loads[at] for at in order]
        left = len(loads) - len(order)
        notes = [f"not drawn: {count(left, 'less busy link')}"] if left else []
    axes.barh(range(len(names)), [100 * share for share in busy], color="#2f6fb2")
    axes.set_yticks(range(len(names)), names, fontsize=6 if len(names) > 16 else "medium")
    axes.invert_yaxis()
    axes.set(xlabel="busy (% of the run)", xlim=(0, 100))
    return notes


def _link_names(result: Result | StoredResult) -> list[LinkName]:
    from yantra.result.link_load import LinkName, link_names, numbered_name

    if isinstance(result, Result):
        return link_names(result.model, result.outcome.links)
    columns = [result.links.values(name) for name in ("dimension", "source", "destination")]
    rows, ranks = zip(*columns, strict=True), len(result.ranks)
    if result.what_ran and result.what_ran.fabric:
        return [LinkName(f"label {label}", f"device {a}", f"device {b}") for label, a, b in rows]
    return [numbered_name(dimension, a, b, ranks) for dimension, a, b in rows]


def _bandwidth(result: Result | StoredResult, axes: Any) -> list[str]:
    table = result.collectives
    points: dict[str, set[tuple[int, float]]] = {}
    names = ("kind", "buffer_bytes", "bus_bandwidth_gb_per_s")
    if names[-1] not in table.columns:
        raise ConfigError("plot", "the result is of a version without bus bandwidths; run it again")
    for kind, size, bandwidth in zip(*(table.values(name) for name in names), strict=True):
        if size and bandwidth is not None:
            points.setdefault(kind, set()).add((size, bandwidth))
    if not points:
        raise ConfigError("plot", "the run has no collective that moved bytes; try gantt")
    for kind, found in sorted(points.items()):
        axes.plot(*zip(*sorted(found), strict=True), "o", markersize=4, alpha=0.7, label=kind)
    _sizes_along(axes, [size for found in points.values() for size, _ in found])
    axes.set(xlabel="size, as nccl-tests count it", ylabel="bus bandwidth (GB/s)")
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return []


def _sizes_along(axes: Any, sizes: list[int]) -> None:
    first = min(sizes).bit_length() - 1
    last = max((max(sizes) - 1).bit_length(), first + 1)
    step = -(-(last - first) // _MOST_LABELS)
    ticks = [1 << power for power in range(first, last + step, step)]
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [format_size(tick) for tick in ticks])
    axes.set_xticks([], minor=True)


def _gantt(result: Result | StoredResult, axes: Any) -> list[str]:
    alike, left = _ranks_shown(result)
    first = [ranks[0] for ranks in alike]
    bars = _bars(result, first)
    present = [type for type in _COLOURS if any(type in spans for spans in bars)]
    high = 0.8 / max(len(present), 1)
    for place, type in enumerate(present):
        name, colour = _COLOURS[type]
        drawn = [(row, spans[type]) for row, spans in enumerate(bars) if type in spans]
        for number, (row, spans) in enumerate(drawn):
            where = (row - 0.4 + high * place, high)
            axes.broken_barh(spans, where, color=colour, label=None if number else name)
    names = [f"{one[0]} ({len(one)} alike)" if len(one) > 1 else str(one[0]) for one in alike]
    axes.set_yticks(range(len(first)), names)
    axes.invert_yaxis()
    axes.set(xlabel="time (ms)", ylabel="rank", xlim=(0, result.makespan_ns / 1e6 or 1))
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return [f"not drawn: {count(left, 'more rank')}"] if left else []


def _ranks_shown(result: Result | StoredResult) -> tuple[list[list[int]], int]:
    """Return ranks that take the same times together, and how many others are left out.

    Of many, some are spread evenly from the first to the last.
    """
    table = result.ranks
    numbers = table.values("rank")
    rows = zip(*(table.values(one) for one in table.columns if one != "rank"), strict=True)
    found: dict[tuple[Any, ...], list[int]] = {}
    for rank, row in zip(numbers, rows, strict=True):
        found.setdefault(row, []).append(rank)
    alike = list(found.values())
    shown = min(len(alike), _MOST_RANKS)
    kept = [alike[place * len(alike) // shown] for place in range(shown)]
    return kept, len(numbers) - sum(map(len, kept))


def _bars(
    result: Result | StoredResult, ranks: list[int]
) -> list[dict[str, list[tuple[float, float]]]]:
    import numpy as np

    table = result.nodes
    apart_ms = result.makespan_ns / 1e6 / _STRETCHES
    begins = np.searchsorted(table["rank"], [*ranks, *(rank + 1 for rank in ranks)])
    found: list[dict[str, list[tuple[float, float]]]] = []
    for begin, end in zip(begins[: len(ranks)], begins[len(ranks) :], strict=True):
        types = _types(table, begin, end)
        start, stop = (table[name][begin:end] / 1e6 for name in ("start_ns", "end_ns"))
        spans: dict[str, list[tuple[float, float]]] = {}
        for type in (one for one in _COLOURS if one != _POSTED):
            of_type = np.flatnonzero((types == type) & (stop > start))
            if len(of_type):
                spans[type] = _joined(start[of_type], stop[of_type], apart_ms)
        found.append(spans)
    return found


def _types(table: Any, begin: int, end: int) -> Any:
    """Return the types of a rank's nodes; kernels of the backward pass have one of their own."""
    import numpy as np

    names = table["name"][begin:end].astype(str)
    is_backward = np.zeros(len(names), bool)
    for ending in _OF_BACKWARD:
        is_backward |= np.char.endswith(names, ending)
    types = table["type"][begin:end]
    return np.where(is_backward & (types == "COMP"), _BACKWARD, types)


def _joined(start: Any, stop: Any, apart: float) -> list[tuple[float, float]]:
    import numpy as np

    order = np.argsort(start, kind="stable")
    start, stop = start[order], stop[order]
    until = np.maximum.accumulate(stop)
    is_seen = (start[1:] - until[:-1] > apart) | (stop[1:] - start[1:] > apart)
    first = np.flatnonzero(np.concatenate([[True], is_seen]))
    last = np.append(first[1:] - 1, len(start) - 1)
    return list(zip(start[first].tolist(), (until[last] - start[first]).tolist(), strict=True))


FIGURES: dict[str, Callable[[Result | StoredResult, Any], list[str]]] = {
    "links": _links,
    "bandwidth": _bandwidth,
    "gantt": _gantt,
}
"""Figures by name; each draws into axes and returns what it leaves out."""

PLUGIN = Plot
