"""The network: a table of dimensions, their bandwidth over time, and a drawing with link load.

A small network is drawn whole: even dimensions to the right, odd ones downwards, gaps between
blocks (a single dimension is a circle), switches as bars beside what they link. A large one is one
group of each dimension, a fabric its graph (`link_drawing.py`). Where links are kept each has its
load, also over time if recorded; else its dimension's `busy`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from math import cos, pi, prod, sin
from typing import Any

from yantra.base.errors import UnsupportedError
from yantra.base.units import format_bandwidth, format_size, format_time
from yantra.export.report.link_drawing import (
    Device,
    Drawing,
    Link,
    Place,
    fabric_drawing,
    load_over_time,
    loads,
    too_large,
)
from yantra.export.report.markup import Cell, Head, Html, element, join, table
from yantra.export.report.run import Run
from yantra.fabric.topologies import find
from yantra.result.hot_links import hot_links
from yantra.result.link_load import link_names
from yantra.result.network import DimensionUse, capacities
from yantra.scenario import Dimension

_MOST_RANKS = 144
_MOST_LINKS = 4000
_MOST_IN_GROUP = 32
_BINS = 200
_GAP = 0.7  # between blocks, in the distance of neighbours
_ABOVE = 0.46  # of a switch from what it links
_BARS_APART = 0.13
_LINK_ROWS = 200
_HOT_LINKS = 10


def section(run: Run) -> Html:
    result = run.result
    over_time = (
        element("div", id="bandwidth", class_="chart")
        if result.recorded
        else element("p", "Bandwidth over time needs a recorded run.", class_="note")
    )
    aware = result.model.keeps_links
    graph = result.model.graph
    load = (too_large(graph) if graph is not None else "") or (
        "Each link is coloured by what it carried over what it could have carried in the time."
        if aware
        else "This network keeps no links: all links of a dimension have the colour of its "
        "busy share."
    )
    return join(
        [
            _dimension_table(run),
            element("h3", "Bandwidth over time"),
            over_time,
            element("h3", "Topology and link load"),
            element("p", load, class_="note"),
            element("div", id="topology", class_="drawings"),
            _link_table(run) if aware else None,
            _flow_table(run) if aware and result.recorded and not result.outcome.folded else None,
        ]
    )


def as_data(run: Run) -> dict[str, Any]:
    found = drawings(run)
    first = count()
    return {
        "utilisation": _utilisation(run) if run.result.recorded else None,
        "labels": [use.label for use in run.result.dimension_uses],
        "drawings": [_drawn(drawing, first) for drawing in found],
        "over_time": load_over_time(run, found),
    }


def drawings(run: Run) -> list[Drawing]:
    scenario = run.result.model.scenario
    graph = run.result.model.graph
    if graph is not None:
        return [] if too_large(graph) else [fabric_drawing(run, graph)]
    dimensions = scenario.topology.dimensions
    uses = run.result.dimension_uses
    links = sum(use.links for use in uses)
    if scenario.topology.ranks <= _MOST_RANKS and links <= _MOST_LINKS:
        made = _measured(run) if run.result.model.keeps_links else _nominal(dimensions, uses)
        return [Drawing("all ranks and links", *_placed(dimensions, made), {})]
    return [_one_group(dimension, use) for dimension, use in zip(dimensions, uses, strict=True)]


def _utilisation(run: Run) -> dict[str, Any]:
    found = run.result.recording.utilisation(bins=_BINS)
    columns = run.columns
    columns.add("use.dimension", found.values("dimension"))
    columns.add_reals("use.from", found.values("from_ns"))
    columns.add_reals("use.to", found.values("to_ns"))
    columns.add_reals("use.share", found.values("utilisation"))
    columns.add("use.bytes", found.values("bytes"))
    return {"bins": _BINS}


def _measured(run: Run) -> list[Link]:
    dimensions = run.result.model.scenario.topology.dimensions
    ranks = run.result.model.ranks
    found: dict[tuple[int, Device, Device], Link] = {}
    rows: Iterator[Any] = zip(run.result.links.rows(), loads(run), strict=True)
    for row, ((d, source, destination, size, *_), load) in enumerate(rows):
        ends = [None if end is None else int(end) for end in (source, destination)]
        a, b = _devices(dimensions, d, ends, ranks)
        found[d, a, b] = Link(a, b, d, load, size, (row,))
    if any(isinstance(end, tuple) and end[1] < 0 for _, a, b in found for end in (a, b)):
        return list(found.values())
    for link in _nominal(dimensions, run.result.dimension_uses):
        key = link.dimension, link.source, link.destination
        found.setdefault(key, link._replace(load=None, bytes=0))
    return list(found.values())


def _devices(
    dimensions: tuple[Dimension, ...], d: int, ends: list[int | None], ranks: int
) -> tuple[Device, Device]:
    rank = next((end for end in ends if end is not None and end < ranks), 0)
    group = _group_of(dimensions, d, rank)
    known = [
        (d, group, 0) if end is None else (d, -1, end) if end >= ranks else end for end in ends
    ]
    return known[0], known[1]


def _group_of(dimensions: tuple[Dimension, ...], d: int, rank: int) -> int:
    stride = prod(dimension.size for dimension in dimensions[:d])
    return rank - rank // stride % dimensions[d].size * stride


def _nominal(dimensions: tuple[Dimension, ...], uses: list[DimensionUse]) -> list[Link]:
    ranks = prod(dimension.size for dimension in dimensions)
    links = []
    for d, dimension in enumerate(dimensions):
        stride = prod(before.size for before in dimensions[:d])
        pairs = list(find(dimension.kind).links(dimension.size))
        share = uses[d].bytes // max(uses[d].links, 1)
        for group in range(ranks):
            if group // stride % dimension.size == 0:
                for ends in pairs:
                    a, b = (
                        group + end * stride
                        if end < dimension.size
                        else (d, group, end - dimension.size)
                        for end in ends
                    )
                    links.append(Link(a, b, d, uses[d].busy, share))
    return links


def _placed(
    dimensions: tuple[Dimension, ...], links: list[Link]
) -> tuple[dict[Device, Place], list[Link]]:
    ranks = prod(dimension.size for dimension in dimensions)
    sizes = [dimension.size for dimension in dimensions if dimension.size > 1]
    if len(sizes) == 1:
        radius = max(1.4, ranks / (2 * pi))
        points = [
            (radius * sin(2 * pi * rank / ranks), -radius * cos(2 * pi * rank / ranks))
            for rank in range(ranks)
        ]
    else:
        points = [_in_grid(dimensions, rank, _units(dimensions)) for rank in range(ranks)]
    places: dict[Device, Place] = {rank: (x, y, x, y) for rank, (x, y) in enumerate(points)}
    _place_switches(places, links, in_the_middle=len(sizes) == 1)
    return places, links


def _units(dimensions: tuple[Dimension, ...]) -> tuple[float, float]:
    # bars need room
    units = [1.0, 1.0]
    for d, dimension in enumerate(dimensions):
        across = 1 - _axis(d)
        units[across] = max(units[across], 1 + _height(dimension) - _ABOVE)
    return units[0], units[1]


def _height(dimension: Dimension) -> float:
    links = list(find(dimension.kind).links(dimension.size))
    reached = set(range(dimension.size))
    height = 0.0
    while level := {b for a, b in links if a in reached} - reached:
        height += _ABOVE + (_BARS_APART * (len(level) - 1) if height else 0)
        reached |= level
    return height


def _in_grid(
    dimensions: tuple[Dimension, ...], rank: int, units: tuple[float, float]
) -> tuple[float, float]:
    at, extent = [0.0, 0.0], list(units)
    for d, dimension in enumerate(dimensions):
        axis = _axis(d)
        at[axis] += rank % dimension.size * extent[axis]
        extent[axis] = extent[axis] * dimension.size + _GAP
        rank //= dimension.size
    return at[0], at[1]


def _place_switches(places: dict[Device, Place], links: list[Link], *, in_the_middle: bool) -> None:
    around: dict[tuple[int, int, int], list[Device]] = {}
    for link in links:
        for end, other in ((link.source, link.destination), (link.destination, link.source)):
            if isinstance(end, tuple):
                around.setdefault(end, []).append(other)
    taken: dict[tuple[int, int], int] = {}
    while left := [switch for switch in around if switch not in places]:
        ready = [s for s in left if any(near in places for near in around[s])] or left
        level: dict[Device, Place] = {}
        for switch in ready:
            near = [places[device] for device in around[switch] if device in places]
            if in_the_middle or not near:
                x, y = (_middle([place[axis] for place in near]) for axis in (0, 1))
                number = taken[round(x), round(y)] = taken.get((round(x), round(y)), -1) + 1
                level[switch] = (x + 0.5 * number, y, x + 0.5 * number, y)
            else:
                level[switch] = _bar(near, _axis(switch[0]), taken)
        places.update(level)


def _axis(d: int) -> int:
    # 0 to the right, 1 downwards
    return d % 2


def _bar(near: list[Place], axis: int, taken: dict[tuple[int, int], int]) -> Place:
    low = min(place[axis] for place in near)
    high = max(place[axis + 2] for place in near)
    beside = min(place[1 - axis] for place in near) - _ABOVE
    spot = round(10 * low), round(10 * beside)
    beside -= _BARS_APART * taken.setdefault(spot, 0)
    taken[spot] += 1
    return (low, beside, high, beside) if axis == 0 else (beside, low, beside, high)


def _middle(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _one_group(dimension: Dimension, use: DimensionUse) -> Drawing:
    block = find(dimension.kind)
    size = dimension.size
    if size > _MOST_IN_GROUP:
        size = next((n for n in range(_MOST_IN_GROUP, 1, -1) if block.supports(n) is None), size)
    title = f"{use.label}: busy {100 * use.busy:.1f} %, {use.links:,} links"
    if size < dimension.size:
        title += f"; drawn with {size} of {dimension.size:,} members"
    small = dimension.replace(size=size)
    links = _nominal((small,), [use._replace(dimension=0)])
    return Drawing(title, *_placed((small,), links), {})


def _drawn(drawing: Drawing, first: Iterator[int]) -> dict[str, Any]:
    number = {device: at for at, device in enumerate(drawing.places)}
    ranks = [isinstance(device, int) and device < drawing.ranks for device in drawing.places]
    devices = [
        [device if is_rank else -1, *(round(value, 3) for value in place)]
        for is_rank, (device, place) in zip(ranks, drawing.places.items(), strict=True)
    ]
    links = [
        [
            number[a],
            number[b],
            d,
            None if load is None else round(load, 5),
            size,
            next(first) if rows else -1,
        ]
        for a, b, d, load, size, rows in drawing.links
    ]
    names = [drawing.names[device] for device in drawing.places] if drawing.names else None
    return {"title": drawing.title, "devices": devices, "links": links, "names": names}


def _dimension_table(run: Run) -> Html:
    heads = [
        Head("dimension", False),
        Head("link bandwidth", about="per link and direction"),
        Head("latency", about="per hop"),
        Head("links", about="directed"),
        Head("messages"),
        Head("bytes carried"),
        Head("utilisation", about="bytes over what all links could have carried in the run"),
        Head("busy", about="share of the run in which the links in use carried bytes"),
    ]
    return table("Dimensions of the network", heads, list(_dimension_rows(run)))


def _dimension_rows(run: Run) -> Iterator[list[Cell | str]]:
    model = run.result.model
    uses = run.result.dimension_uses
    for use, capacity in zip(uses, capacities(model, uses), strict=True):
        rate = capacity / max(1, use.links)
        latency: Cell | str = "of each link"
        if model.fabric is None:
            dimension = model.scenario.topology.dimensions[use.dimension]
            rate = dimension.bytes_per_ns
            latency = Cell(format_time(dimension.latency_ns), dimension.latency_ns)
        yield [
            f"{use.dimension}: {use.linked}",
            Cell(format_bandwidth(rate * 1e9), rate),
            latency,
            Cell(f"{use.links:,}", use.links),
            Cell(f"{use.messages:,}", use.messages),
            Cell(format_size(use.bytes), use.bytes),
            Cell(f"{100 * use.utilisation:.1f} %", use.utilisation),
            Cell(f"{100 * use.busy:.1f} %", use.busy),
        ]


def _link_table(run: Run) -> Html:
    heads = [
        Head("from", False),
        Head("to", False),
        Head("label" if run.result.model.graph else "dimension", False),
        Head("bytes"),
        Head("messages"),
        Head("busy for"),
        Head("busy"),
    ]
    names = link_names(run.result.model, run.result.outcome.links)
    each = zip(names, run.result.links.rows(), strict=True)
    busiest = sorted(each, key=lambda link: -float(link[1][6] or 0))
    rows = []
    for name_of, (_, _, _, size, messages, busy_ns, busy) in busiest[:_LINK_ROWS]:
        rows.append(
            [
                name_of.source,
                name_of.destination,
                name_of.label,
                Cell(format_size(int(size or 0)), size),
                Cell(f"{messages:,}", messages),
                Cell(format_time(float(busy_ns or 0)), busy_ns),
                Cell(f"{100 * float(busy or 0):.1f} %", busy),
            ]
        )
    name = "Links by load"
    if len(busiest) > _LINK_ROWS:
        name = f"The {_LINK_ROWS} busiest of {len(busiest):,} links"
    return table(name, heads, rows)


def _flow_table(run: Run) -> Html:
    try:
        links = hot_links(run.result, _HOT_LINKS)
    except UnsupportedError as error:
        text = f"Who sends over the busiest links is left out: {error}."
        return element("p", text, class_="note")
    heads = [
        Head("link", False),
        Head("messages", False, "of one rank to another, together"),
        Head("bytes"),
        Head("first at"),
        Head("last at"),
    ]
    rows = [
        [
            link.name.text,
            share.who,
            Cell(format_size(share.bytes), share.bytes),
            Cell(format_time(share.start_ns), share.start_ns),
            Cell(format_time(share.end_ns), share.end_ns),
        ]
        for link in links
        for share in link.largest
    ]
    return table("Who sends over the busiest links", heads, rows)
