"""A drawing of a graph as SVG: ranks below, switches above them by their distance, cables between.

Graphs without switches are drawn as points of their grid, or around a circle. A cable is as wide as
its rate, its colour is that of its label. What cannot be told apart any more is refused.
"""

from __future__ import annotations

from math import cos, log2, pi, sin
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from yantra.base import units
from yantra.base.errors import ConfigError
from yantra.fabric.graphs.graph import DeviceKind, Graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_DEVICES, MOST_CABLES = 3000, 20_000
"""The largest graph that is drawn."""

_STEP, _EDGE, _RADIUS = 36.0, 40.0, 7.0
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666")
_STYLE = """text{font:11px sans-serif;fill:#222}.rank{fill:#fff;stroke:#222}
.switch{fill:#222}.nic{fill:#999}svg{background:#fff}
@media(prefers-color-scheme:dark){text{fill:#ddd}.rank{fill:#111;stroke:#ddd}
.switch{fill:#ddd}svg{background:#111}}"""


def drawing(graph: Graph, title: str) -> str:
    """Return the SVG of a graph. Raises ConfigError if it is too large to be read."""
    cables = _cables(graph)
    if graph.devices > MOST_DEVICES or len(cables) > MOST_CABLES:
        problem = f"{graph.devices} devices and {len(cables)} cables are too many to draw"
        limit = f"expected at most {MOST_DEVICES} and {MOST_CABLES}"
        raise ConfigError("--svg", f"{problem}; {limit}, so draw a smaller one of the kind")
    points = _points(graph)
    points = points - points.min(axis=0) + _EDGE
    width, height = points.max(axis=0) + _EDGE
    legend = len(graph.labels) * 16.0 + 10
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
        f'height="{height + legend:.0f}" role="img" aria-label={quoteattr(title)}>'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>"
    )
    parts = [head, *_lines(graph, cables, points), *_marks(graph, points)]
    parts += _legend(graph, height)
    return "\n".join(parts) + "\n</svg>\n"


def _cables(graph: Graph) -> list[tuple[int, int]]:
    """Return one link, and how many there are, for every two devices that are joined."""
    low = np.minimum(graph.links.start, graph.links.end).astype(np.int64)
    high = np.maximum(graph.links.start, graph.links.end)
    pairs = low * graph.devices + high
    _, first, number = np.unique(pairs, return_index=True, return_counts=True)
    return list(zip(first.tolist(), number.tolist(), strict=True))


def _points(graph: Graph) -> NDArray[np.float64]:
    if graph.devices > graph.ranks:
        return _rows(graph)
    grid = graph.coordinates
    if grid is None or (grid.shape[1] == 1 and graph.ports().min() > 1):
        return _circle(graph.devices)
    sizes = grid.max(axis=0) + 1
    points = np.zeros((graph.devices, 2))
    spread = np.ones(2)
    for at in range(grid.shape[1]):  # further dimensions repeat the first two beside them
        axis = at % 2
        points[:, axis] += grid[:, at] * spread[axis] * _STEP * 1.5
        spread[axis] *= sizes[at] + 0.5
    return points


def _circle(number: int) -> NDArray[np.float64]:
    radius = max(number * _STEP / (2 * pi), 2 * _STEP)
    angles = [2 * pi * at / number - pi / 2 for at in range(number)]
    return np.array([(radius * cos(angle), radius * sin(angle)) for angle in angles])


def _rows(graph: Graph) -> NDArray[np.float64]:
    """Return ranks in the lowest row; a device is in the row of its distance from the ranks."""
    level = np.where(np.arange(graph.devices) < graph.ranks, 0, -1)
    at = 0
    while (level[graph.links.start] == at).any():
        ahead = graph.links.end[(level[graph.links.start] == at)]
        level[ahead[level[ahead] < 0]] = at + 1
        at += 1
    level[level < 0] = at
    rows = [np.flatnonzero(level == row) for row in range(at + 1)]
    width = max(map(len, rows)) * _STEP
    points = np.zeros((graph.devices, 2))
    for row, devices in enumerate(rows):
        gap = width / max(len(devices), 1)
        points[devices, 0] = (np.arange(len(devices)) + 0.5) * gap
        points[devices, 1] = -row * max(3 * _STEP, width / 8)
    return points


def _lines(graph: Graph, cables: list[tuple[int, int]], points: NDArray[np.float64]) -> list[str]:
    slowest = float(graph.links.bytes_per_ns.min())
    lines = []
    for link, number in cables:
        start, end = int(graph.links.start[link]), int(graph.links.end[link])
        rate = float(graph.links.bytes_per_ns[link])
        wide = 1 + min(log2(rate / slowest), 5)
        colour = _COLOURS[int(graph.links.label[link]) % len(_COLOURS)]
        (x1, y1), (x2, y2) = points[start], points[end]
        rate_said = units.format_bandwidth(rate * 1e9)
        said = f"{graph.name_of(start)} - {graph.name_of(end)}: {rate_said}"
        latency = units.format_time(float(graph.links.latency_ns[link]))
        lines.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{wide:.1f}" opacity="0.6"><title>{escape(said)}, {latency}, '
            f"{number} directed</title></line>"
        )
    return lines


def _marks(graph: Graph, points: NDArray[np.float64]) -> list[str]:
    marks = []
    for device, (x, y) in enumerate(points):
        kind = DeviceKind(int(graph.kinds[device])).name.lower()
        name = escape(graph.name_of(device))
        if kind == "rank":
            mark = f'<circle class="rank" cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS:g}">'
            marks.append(f"{mark}<title>{name}</title></circle>")
        else:
            mark = f'<rect class="{kind}" x="{x - _RADIUS:.1f}" y="{y - 5:.1f}"'
            marks.append(f'{mark} width="14" height="10"><title>{name}</title></rect>')
    return marks


def _legend(graph: Graph, top: float) -> list[str]:
    return [
        f'<line x1="10" x2="30" y1="{top + 16 * at:.0f}" y2="{top + 16 * at:.0f}" '
        f'stroke="{_COLOURS[at % len(_COLOURS)]}" stroke-width="3"/>'
        f'<text x="36" y="{top + 16 * at + 4:.0f}">{escape(label)}</text>'
        for at, label in enumerate(graph.labels)
    ]
