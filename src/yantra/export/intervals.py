"""Times as bars with intervals, as a figure of matplotlib; extra `plots`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yantra.result.frames import needed

_WIDE, _EACH, _MORE = 8.0, 0.45, 1.2  # inches


def bars(
    names: Sequence[str],
    times_ns: Sequence[float],
    spans_ns: Sequence[tuple[float, float] | None],
    title: str,
) -> Any:
    """A bar for each time in ns, and a line over its interval, if any.

    Raises UnsupportedError without matplotlib.
    """
    figures = needed("matplotlib.figure", "plot", "plots")
    figure = figures.Figure(figsize=(_WIDE, _EACH * len(names) + _MORE), layout="constrained")
    axes = figure.add_subplot()
    unit, name = (1e9, "s") if max(times_ns) >= 1e9 else (1e6, "ms")
    axes.barh(range(len(names)), [time / unit for time in times_ns], color="#2f6fb2", height=0.6)
    known = [(at, span) for at, span in enumerate(spans_ns) if span is not None]
    if known:
        axes.errorbar(
            [times_ns[at] / unit for at, _ in known],
            [at for at, _ in known],
            xerr=[
                [(times_ns[at] - low) / unit for at, (low, _) in known],
                [(high - times_ns[at]) / unit for at, (_, high) in known],
            ],
            fmt="none",
            ecolor="#c0392b",
            capsize=4,
            label="90 % of such jobs",
        )
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set(xlabel=f"time ({name})", title=title)
    axes.set_xlim(left=0)
    return figure
