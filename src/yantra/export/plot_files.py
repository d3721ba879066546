"""Figures of files that commands write, a line for each file; needs matplotlib.

`fct`: slowdown of flows by size, as papers on congestion control print it (Li et al., "HPCC",
SIGCOMM 2019, figure 11): parts with equally many flows. `queues`: the share of time that ports'
queues have at most so many bytes. `front`: the trials of a study, and its Pareto front.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from os import path as paths
from typing import Any

import numpy as np

from yantra.base.documents import read_text
from yantra.base.errors import ConfigError
from yantra.base.text import count
from yantra.export.plot import INCHES, figures_of_matplotlib, save

_PERCENTILES = (50, 95, 99)
_PARTS, _LEAST_FLOWS = 10, 5
_WRITES = {"fct": "yantra network flows -o", "queues": "yantra network flows --queues"}


def write(figure: str, files: Sequence[str], path: str) -> list[str]:
    """Draw files; returns what is left out.

    Raises ConfigError at a file that a figure is not of, UnsupportedError without matplotlib.
    """
    drawn = figures_of_matplotlib().Figure(figsize=INCHES, layout="constrained")
    notes = FIGURES[figure](files, drawn)
    save(drawn, path)
    return notes


def fct(files: Sequence[str], figure: Any) -> list[str]:
    panels = figure.subplots(1, len(_PERCENTILES), sharex=True)
    notes = []
    for file in files:
        columns, unfinished = _columns(file, "fct", "bytes", "slowdown")
        if not len(columns[0]):
            raise ConfigError(file, "expected flows that ended, got none")
        if unfinished:
            notes.append(f"{file}: not drawn: {count(unfinished, 'flow')} without an end")
        sizes, slowdowns = by_size(*columns)
        for axes, of_size in zip(panels, slowdowns, strict=True):
            axes.plot(sizes, of_size, marker=".", label=_name(file))
    for axes, percentile in zip(panels, _PERCENTILES, strict=True):
        axes.set(xscale="log", xlabel="bytes of a flow", title=f"p{percentile}")
        axes.set_ylim(bottom=1)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("slowdown against alone")
    panels[0].legend()
    return notes


def by_size(sizes: Any, slowdowns: Any) -> tuple[Any, list[Any]]:
    """Return the median size of each part of flows, and percentiles of its slowdowns."""
    order = np.argsort(sizes, kind="stable")
    parts = np.array_split(order, max(1, min(_PARTS, len(order) // _LEAST_FLOWS)))
    middles = np.array([np.median(sizes[part]) for part in parts])
    found = [np.percentile(slowdowns[part], _PERCENTILES) for part in parts]
    return middles, list(np.array(found).T)


def queues(files: Sequence[str], figure: Any) -> list[str]:
    axes = figure.subplots()
    for file in files:
        columns, _ = _columns(file, "queues", "link", "at_ns", "queue_bytes")
        if not len(columns[0]):
            raise ConfigError(file, "expected samples of queues, got none")
        level, share = time_share(*columns)
        axes.step(level / 1000, share, where="post", label=_name(file))
    axes.set(xlabel="queue of a port (kB)", ylabel="share of time at or below", ylim=(None, 1))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    return []


def time_share(link: Any, at_ns: Any, queue_bytes: Any) -> tuple[Any, Any]:
    """Return lengths of queues and the share of all ports' time at or below each.

    A sample holds until the next of its port; a port's last has no length.
    """
    holds = np.append((link[1:] == link[:-1]) * (at_ns[1:] - at_ns[:-1]), 0.0)
    levels, of = np.unique(queue_bytes, return_inverse=True)
    shares = np.bincount(of, holds, len(levels))
    return levels, np.cumsum(shares) / (shares.sum() or 1.0)


def front(files: Sequence[str], figure: Any) -> list[str]:
    axes = figure.subplots()
    notes = []
    for file in files:
        trials, chosen, (x, y) = _study(file)
        kept = [at for at, one in enumerate(trials) if None not in (one.get(x), one.get(y))]
        notes += [f"{file}: not drawn: {count(len(trials) - len(kept), 'trial')} without a plan"][
            : len(trials) - len(kept)
        ]
        places = {at: (trials[at][x], trials[at][y]) for at in kept}
        (dots,) = axes.plot(*zip(*places.values(), strict=True), "o", alpha=0.35, label=_name(file))
        best = sorted((places[at], trials[at]) for at in chosen if at in places)
        axes.plot(*zip(*(at for at, _ in best), strict=True), "o-", color=dots.get_color())
        for at, trial in best:
            name = f"{trial['cluster']} x{trial['ranks']}"
            axes.annotate(name, at, (6, 6), textcoords="offset points", fontsize="small")
        axes.set(xlabel=x.replace("_", " "), ylabel=y.replace("_", " "))
    axes.grid(alpha=0.3)
    axes.legend()
    return notes


def _study(file: str) -> tuple[list[dict[str, Any]], list[int], tuple[str, str]]:
    import json

    path = paths.join(file, "front.json") if paths.isdir(file) else file
    try:
        found = json.loads(read_text(path))
        trials, chosen, objectives = (found[name] for name in ("trials", "front", "objectives"))
    except (ValueError, KeyError, TypeError):
        raise ConfigError(path, "expected front.json of yantra explore run -o") from None
    if len(objectives) < 2:
        raise ConfigError(path, f"a front has two objectives, this study one: {objectives[0]}")
    return trials, chosen, (objectives[0], objectives[1])


def _columns(file: str, figure: str, *names: str) -> tuple[list[Any], int]:
    """Return columns of a table of numbers, and how many rows lack one of them."""
    rows = csv.DictReader(read_text(file).splitlines())
    if not set(names) <= set(rows.fieldnames or ()):
        wanted = f"a .csv with {', '.join(names)}, which {_WRITES[figure]} writes"
        raise ConfigError(file, f"expected {wanted}")
    kept, lacking = [], 0
    for number, row in enumerate(rows, start=2):
        try:
            values = [float(row[name] or "nan") for name in names]
        except (TypeError, ValueError):
            raise ConfigError(file, f"line {number}: expected numbers, got {row}") from None
        if np.isfinite(values).all():
            kept.append(values)
        else:
            lacking += 1
    return list(np.array(kept, float).reshape(-1, len(names)).T), lacking


def _name(file: str) -> str:
    return paths.basename(paths.normpath(file)).partition(".")[0]


FIGURES: dict[str, Callable[[Sequence[str], Any], list[str]]] = {
    "fct": fct,
    "queues": queues,
    "front": front,
}
"""Figures by name; each draws files into a figure and returns what it leaves out."""
