"""A fabric as a drawing, and its links' load over time, in thousandths of what they can carry."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from yantra.export.report.run import Run
from yantra.fabric.graphs.drawing import places
from yantra.fabric.graphs.graph import Graph
from yantra.result.network import link_rates

MOST_DEVICES, MOST_LINKS = 600, 4000
"""The largest fabric drawn: devices, and pairs of devices with a link."""
FRAMES = 60
"""Stretches of the run in which load is shown."""

_PIXELS = 36.0  # between neighbours in a drawing of a fabric

Device = int | tuple[int, int, int]
"""A rank, or a switch: its dimension, its group (the lowest rank) and its number. Of a fabric the
device's number."""

Place = tuple[float, float, float, float]
"""Left, top, right, bottom; a rank is a point, a switch may be a bar."""


class Link(NamedTuple):
    """A directed link as drawn, with its load in the run, None if it carried nothing.

    `rows` are of `Result.links`; without, the load is its dimension's.
    """

    source: Device
    destination: Device
    dimension: int
    load: float | None
    bytes: int
    rows: tuple[int, ...] = ()


class Drawing(NamedTuple):
    """Devices with places, and links between them; `title` says what is drawn.

    `names` are of all devices, empty where numbers do. Devices from `ranks` on are no ranks.
    """

    title: str
    places: dict[Device, Place]
    links: list[Link]
    names: dict[Device, str]
    ranks: int = 2**32


def too_large(graph: Graph) -> str:
    links = len(np.unique(_pairs(graph)))
    if graph.devices <= MOST_DEVICES and links <= MOST_LINKS:
        return ""
    return (
        f"{graph.devices:,} devices and {links:,} links are too many to draw; the busiest links "
        "are in the table."
    )


def fabric_drawing(run: Run, graph: Graph) -> Drawing:
    """Parallel links show the busiest's load and all bytes."""
    points = places(graph) / _PIXELS
    points = points.round(3)
    pair, first = np.unique(_pairs(graph), return_index=True)
    start, end, label = graph.links.start, graph.links.end, graph.links.label
    found = {
        int(at): Link(int(start[link]), int(end[link]), int(label[link]), None, 0)
        for at, link in zip(pair, first, strict=True)
    }
    links = run.result.outcome.links
    for row, (link, load) in enumerate(zip(links, loads(run), strict=True)):
        at = int(link.source or 0) * graph.devices + int(link.destination or 0)
        known = found[at]
        found[at] = known._replace(
            load=max(known.load or 0.0, load),
            bytes=known.bytes + link.use.bytes,
            rows=(*known.rows, row),
        )
    where: dict[Device, Place] = {
        device: (float(x), float(y), float(x), float(y)) for device, (x, y) in enumerate(points)
    }
    named: dict[Device, str] = {device: graph.name_of(device) for device in range(graph.devices)}
    others = graph.devices - graph.ranks
    title = f"{graph.ranks:,} ranks, {others:,} "
    title += "switch or network card" if others == 1 else "switches and network cards"
    return Drawing(title, where, list(found.values()), named, graph.ranks)


def loads(run: Run) -> list[float]:
    result = run.result
    rates = link_rates(result.model, result.outcome.links)
    sizes = (link.use.bytes for link in result.outcome.links)
    return [
        size / (rate * result.makespan_ns) if result.makespan_ns else 0.0
        for size, rate in zip(sizes, rates, strict=True)
    ]


def _pairs(graph: Graph) -> Any:
    return graph.links.start.astype(np.int64) * graph.devices + graph.links.end


def load_over_time(run: Run, drawings: list[Drawing]) -> dict[str, Any] | None:
    """Return None where no link is known, or the run was not recorded."""
    drawn = [link.rows for drawing in drawings for link in drawing.links if link.rows]
    if not drawn or not run.result.recorded:
        return None
    table = run.result.recording.link_utilisation(bins=FRAMES)
    rates = np.array(link_rates(run.result.model, run.result.outcome.links))
    share = table["utilisation"].reshape(len(rates), FRAMES)
    rates = np.where(np.isfinite(rates), rates, 1.0)
    means = [np.average(share[list(rows)], axis=0, weights=rates[list(rows)]) for rows in drawn]
    thousandths = np.rint(1000 * np.array(means)).astype(np.int64)
    run.columns.add("load.share", thousandths.ravel())
    return {"frames": FRAMES}
