"""A graph as SVG: ranks below, switches above by distance.

Without switches, points of a grid or circle. Cables are as wide as their rate, coloured by label,
or each way by load; loads over time are animated, in print the whole time.
"""

from __future__ import annotations

from math import cos, log2, pi, sin
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from yantra.base import units
from yantra.base.errors import ConfigError
from yantra.fabric.graphs.graph import DeviceKind, Graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from yantra.fabric.graphs.link_loads import Loads

MOST_DEVICES, MOST_CABLES = 3000, 20_000
"""The largest graph that is drawn."""
FRAMES = 60
"""Parts of the time in which a drawing over time has colours of its own."""

_STEP, _EDGE, _RADIUS = 36.0, 40.0, 7.0
_LEGEND = 360.0  # width of its texts
_TURN_S = 12  # of an animation's cycle
_HEAT = ((196, 200, 204), (240, 214, 96), (240, 150, 40), (214, 60, 40), (120, 0, 40))
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666")
_STYLE = """text{font:11px sans-serif;fill:#222}.rank{fill:#fff;stroke:#222}
.switch{fill:#222}.nic{fill:#999}svg{background:#fff}
@media(prefers-color-scheme:dark){text{fill:#ddd}.rank{fill:#111;stroke:#ddd}
.switch{fill:#ddd}svg{background:#111}}"""


def check_size(graph: Graph) -> None:
    cables = len(_pairs(graph, directed=False)[0])
    if graph.devices > MOST_DEVICES or cables > MOST_CABLES:
        problem = f"{graph.devices} devices and {cables} cables are too many to draw"
        limit = f"expected at most {MOST_DEVICES} and {MOST_CABLES}"
        raise ConfigError("--svg", f"{problem}; {limit}, so draw a smaller one of the kind")


def drawing(graph: Graph, title: str, loads: Loads | None = None) -> str:
    check_size(graph)
    points = places(graph)
    points = points - points.min(axis=0) + _EDGE
    width, height = points.max(axis=0) + _EDGE
    if loads is None:
        cables = _cables(graph)
        labels = list(dict.fromkeys(label for _, _, label in cables))
        lines, keys = _lines(graph, cables, labels, points), _legend(labels, height)
    else:
        lines, keys = _loaded(graph, loads, points), _scale(height, loads)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{max(width, _LEGEND):.0f}" '
        f'height="{height + 16.0 * len(keys) + 10:.0f}" role="img" aria-label={quoteattr(title)}>'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>"
    )
    return "\n".join([head, *lines, *_marks(graph, points), *keys]) + "\n</svg>\n"


def _pairs(graph: Graph, directed: bool) -> tuple[Any, Any, Any]:
    start, end = graph.links.start.astype(np.int64), graph.links.end.astype(np.int64)
    if not directed:
        start, end = np.minimum(start, end), np.maximum(start, end)
    found = np.unique(
        start * graph.devices + end, return_index=True, return_inverse=True, return_counts=True
    )
    return found[1], found[2], found[3]


def _cables(graph: Graph) -> list[tuple[int, int, str]]:
    low = np.minimum(graph.links.start, graph.links.end).astype(np.int64)
    high = np.maximum(graph.links.start, graph.links.end)
    pairs = low * graph.devices + high
    _, first, number = np.unique(pairs, return_index=True, return_counts=True)
    _, last = np.unique(pairs[::-1], return_index=True)
    found = []
    for one, other, links in zip(first, len(pairs) - 1 - last, number, strict=True):
        names = dict.fromkeys(graph.labels[graph.links.label[link]] for link in (one, other))
        found.append((int(one), int(links), ", ".join(names)))
    return found


def places(graph: Graph) -> NDArray[np.float64]:
    if graph.devices > graph.ranks:
        return _rows(graph)
    grid = graph.coordinates
    if grid is None or (grid.shape[1] == 1 and graph.ports().min() > 1):
        return _circle(graph.devices)
    sizes = grid.max(axis=0) + 1
    points = np.zeros((graph.devices, 2))
    spread = np.ones(2)
    for at in range(grid.shape[1]):  # further dimensions repeat the first two, askew
        axis = at % 2
        points[:, axis] += grid[:, at] * spread[axis] * _STEP * 1.5
        points[:, 1 - axis] += grid[:, at] * (_STEP * 0.6 if at > 1 else 0.0)
        spread[axis] *= sizes[at] + 0.5
    return points


def _circle(number: int) -> NDArray[np.float64]:
    radius = max(number * _STEP / (2 * pi), 2 * _STEP)
    angles = [2 * pi * at / number - pi / 2 for at in range(number)]
    return np.array([(radius * cos(angle), radius * sin(angle)) for angle in angles])


def _rows(graph: Graph) -> NDArray[np.float64]:
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


def _lines(
    graph: Graph,
    cables: list[tuple[int, int, str]],
    labels: list[str],
    points: NDArray[np.float64],
) -> list[str]:
    slowest = float(graph.links.bytes_per_ns.min())
    is_grid = graph.devices == graph.ranks and graph.coordinates is not None
    lines = []
    for link, number, label in cables:
        start, end = int(graph.links.start[link]), int(graph.links.end[link])
        rate = float(graph.links.bytes_per_ns[link])
        wide = 1 + min(log2(rate / slowest), 5)
        colour = _COLOURS[labels.index(label) % len(_COLOURS)]
        rate_said = units.format_bandwidth(rate * 1e9)
        ends = f"{graph.name_of(start)} - {graph.name_of(end)}"
        latency = units.format_time(float(graph.links.latency_ns[link]))
        lines.append(
            f'<path d="{_way(points[start], points[end], is_grid)}" stroke="{colour}" '
            f'stroke-width="{wide:.1f}" opacity="0.6" fill="none"><title>{escape(ends)}: '
            f"{rate_said}, {latency}, {number} directed</title></path>"
        )
    return lines


def _loaded(graph: Graph, loads: Loads, points: NDArray[np.float64]) -> list[str]:
    first, pair, number = _pairs(graph, directed=True)
    most = np.zeros(len(first))
    np.maximum.at(most, pair, loads.whole)
    total = np.bincount(pair, loads.whole, len(first))
    frames = np.zeros((len(loads.of_frames), len(first)))
    for of_pairs, of_links in zip(frames, loads.of_frames, strict=True):
        np.maximum.at(of_pairs, pair, of_links)
    lines = []
    for at in np.argsort(most, kind="stable").tolist():
        link = int(first[at])
        start, end = int(graph.links.start[link]), int(graph.links.end[link])
        load = f"{100 * most[at]:.1f} % in use"
        if number[at] > 1:
            load += f", {number[at]} links with {100 * total[at] / number[at]:.1f} % on average"
        rate = units.format_bandwidth(float(graph.links.bytes_per_ns[link]) * 1e9)
        ends = f"{graph.name_of(start)} to {graph.name_of(end)}"
        label = graph.labels[int(graph.links.label[link])]
        wide = 1.2 + 2.8 * min(most[at], 1.0)
        lines.append(
            f'<path d="{_beside(points[start], points[end])}" stroke="{heat(most[at])}" '
            f'stroke-width="{wide:.1f}" fill="none"><title>{escape(ends)} ({escape(label)}): '
            f"{load}, {rate}</title>{_over_time(frames[:, at])}</path>"
        )
    return lines


def _over_time(loads: NDArray[np.float64]) -> str:
    colours = [heat(load) for load in loads.tolist()]
    if len(set(colours)) < 2:
        return ""
    return (
        f'<animate attributeName="stroke" values="{";".join(colours)}" dur="{_TURN_S}s" '
        'calcMode="discrete" repeatCount="indefinite"/>'
    )


def heat(load: float) -> str:
    """Return a load's colour, grey, yellow, orange, dark red."""
    at = min(max(load, 0.0), 1.0) * (len(_HEAT) - 1)
    low = min(int(at), len(_HEAT) - 2)
    mixed = (
        round(one + (at - low) * (other - one))
        for one, other in zip(_HEAT[low], _HEAT[low + 1], strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _beside(start: NDArray[np.float64], end: NDArray[np.float64]) -> str:
    (x1, y1), (x2, y2) = start, end
    long = float(np.hypot(x2 - x1, y2 - y1)) or 1.0
    aside = min(4 + 0.02 * long, 14.0) * np.array([y2 - y1, x1 - x2]) / long
    x, y = (start + end) / 2 + aside
    return f"M{x1:.1f} {y1:.1f}Q{x:.1f} {y:.1f} {x2:.1f} {y2:.1f}"


def _scale(top: float, loads: Loads) -> list[str]:
    boxes = [
        f'<rect x="{10 + 12 * at}" y="{top - 8:.0f}" width="12" height="10" '
        f'fill="{heat(at / 10)}"/>'
        for at in range(11)
    ]
    text = f'<text x="150" y="{top:.0f}">0 to 100 % of what a link can carry</text>'
    if not len(loads.of_frames):
        return ["".join(boxes), text]
    at, left, right = top + 22, 10, 142
    axis = (
        f'<line x1="{left}" x2="{right}" y1="{at:.0f}" y2="{at:.0f}" stroke="#999"/>'
        f'<circle cx="{left}" cy="{at:.0f}" r="4" fill="#999"><animate attributeName="cx" '
        f'values="{left};{right}" dur="{_TURN_S}s" repeatCount="indefinite"/></circle>'
    )
    told = f"0 to {units.format_time(loads.end_ns)}, in {len(loads.of_frames)} parts"
    return ["".join(boxes), text, axis, f'<text x="150" y="{at + 4:.0f}">{told}</text>']


def _way(start: NDArray[np.float64], end: NDArray[np.float64], is_grid: bool) -> str:
    (x1, y1), (x2, y2) = start, end
    long = float(np.hypot(x2 - x1, y2 - y1))
    if not is_grid or long <= 1.6 * _STEP:
        return f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
    aside = (0.5 * _STEP + 0.05 * long) * np.array([y1 - y2, x2 - x1]) / long
    x, y = (start + end) / 2 + aside
    return f"M{x1:.1f} {y1:.1f}Q{x:.1f} {y:.1f} {x2:.1f} {y2:.1f}"


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


def _legend(labels: list[str], top: float) -> list[str]:
    return [
        f'<line x1="10" x2="30" y1="{top + 16 * at:.0f}" y2="{top + 16 * at:.0f}" '
        f'stroke="{_COLOURS[at % len(_COLOURS)]}" stroke-width="3"/>'
        f'<text x="36" y="{top + 16 * at + 4:.0f}">{escape(label)}</text>'
        for at, label in enumerate(labels)
    ]
