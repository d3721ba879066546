"""Outcome -> how much of the network the run used, per dimension and per link.

Two shares of each dimension, both of the makespan:

* `utilisation`: bytes / (links x bandwidth x makespan) (Themis, Rashidi et al., ISCA 2022, per
  dimension). A ring counts both directions, so a collective that goes one way stays below one half.
* `busy`: how long the busiest link carried bytes, as measured. Where a network keeps no links,
  bytes / (ranks x lanes x bandwidth x makespan), with lanes the links a rank drives at once under
  the scenario's algorithms; above 1 a real network would have made messages wait (`overload`).

On the analytical network, which keeps the links of ranks, a message counts once per dimension,
however many hops it takes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from yantra import _core
from yantra.compile import Model
from yantra.compile.removal import bandwidth_of
from yantra.fabric.topologies import topologies
from yantra.result.link_counts import kinds_used, lanes_of, links_per_group
from yantra.result.table import Column, Table
from yantra.result.tables import nanoseconds
from yantra.scenario import Dimension

_KIND_NAMES = {"ring": "Ring", "fully_connected": "FullyConnected", "switch": "Switch"}


class DimensionUse(NamedTuple):
    """What one dimension, or label of a fabric's links, carried."""

    dimension: int
    """The dimension's number, innermost first."""
    kind: str
    """How its members are linked; over a fabric, the label of links."""
    size: int
    """Its members; 0 over a fabric."""
    links: int
    """Directed links over all ranks."""
    bytes: int
    """Bytes that they carried."""
    messages: int
    """Messages carried, on every link crossed where links are kept; packets on the network
    `packet`.
    """
    utilisation: float
    """Bytes over what its links could have carried, 0 to 1."""
    busy: float
    """Share of the makespan in which used links carried bytes; see the module."""

    @property
    def label(self) -> str:
        """Its name in texts: `dimension 1 (Ring 8)`."""
        return f"dimension {self.dimension} ({self.linked})" if self.size else f"links {self.kind}"

    @property
    def linked(self) -> str:
        """How its members are linked, and how many: `Ring 8`."""
        return _linked(self.kind, self.size)


def _linked(kind: str, size: int) -> str:
    return f"{_KIND_NAMES.get(kind, kind)} {size}" if size else kind


def linked(dimension: Dimension) -> str:
    """How a dimension's members are linked, and how many: `Ring 8`."""
    return _linked(topologies.shown(dimension.kind), dimension.size)


def dimension_uses(model: Model, outcome: _core.Outcome, makespan_ns: float) -> list[DimensionUse]:
    if model.fabric is not None:
        return _label_uses(model, model.fabric, outcome, makespan_ns)
    aware = model.follows_links
    kinds = kinds_used(model)
    uses = []
    for d, dimension in enumerate(model.scenario.topology.dimensions):
        carried = outcome.dimensions[d]
        links = model.ranks // dimension.size * links_per_group(dimension, aware)
        serial_ns = carried.bytes / bandwidth_of(d, dimension, model.without)
        if model.keeps_links:
            busy = _share(outcome.busiest[d] / model.ticks_per_ns, makespan_ns)
        else:
            busy = _share(serial_ns, model.ranks * lanes_of(model, d, kinds) * makespan_ns)
        uses.append(
            DimensionUse(
                dimension=d,
                kind=topologies.shown(dimension.kind),
                size=dimension.size,
                links=links,
                bytes=carried.bytes,
                messages=carried.messages,
                utilisation=_share(serial_ns, links * makespan_ns),
                busy=busy,
            )
        )
    return uses


def _label_uses(
    model: Model, fabric: _core.FabricGraph, outcome: _core.Outcome, makespan_ns: float
) -> list[DimensionUse]:
    uses = []
    for at, label in enumerate(fabric.labels):
        carried = outcome.dimensions[at]
        capacity = fabric.label_bytes_per_ns(at) * makespan_ns
        uses.append(
            DimensionUse(
                dimension=at,
                kind=label,
                size=0,
                links=fabric.label_links(at),
                bytes=carried.bytes,
                messages=carried.messages,
                utilisation=_share(carried.bytes, capacity),
                busy=_share(outcome.busiest[at] / model.ticks_per_ns, makespan_ns),
            )
        )
    return uses


def capacities(model: Model, uses: list[DimensionUse]) -> list[float]:
    if model.fabric is not None:
        return [model.fabric.label_bytes_per_ns(use.dimension) for use in uses]
    dimensions = model.scenario.topology.dimensions
    return [use.links * dimensions[use.dimension].bytes_per_ns for use in uses]


def link_rates(model: Model, links: list[_core.LinkRecord]) -> list[float]:
    dimensions = model.scenario.topology.dimensions
    return [link.bytes_per_ns or dimensions[link.dimension].bytes_per_ns for link in links]


def dimension_table(uses: list[DimensionUse]) -> Table:
    kinds = ("whole", "text", "whole", "whole", "whole", "whole", "real", "real")

    def column(index: int) -> Any:
        return lambda: [use[index] for use in uses]

    columns: dict[str, Column] = {
        name: (kind, column(index))  # type: ignore[misc]
        for index, (name, kind) in enumerate(zip(DimensionUse._fields, kinds, strict=True))
    }
    return Table("dimensions", len(uses), columns)


def link_table(model: Model, outcome: _core.Outcome, makespan_ns: float) -> Table:
    """One row per directed link that carried something.

    On the analytical network those with an end at a rank; none with the quirk
    `links-carry-anything` or on `ideal`.

    `source` and `destination` are ranks; None is a group's one switch, numbers after the ranks its
    several. Over a fabric `dimension` is the label's number, and ends are devices. `busy` is the
    share of the makespan.
    """
    links = outcome.links if model.keeps_links else []

    def busy_ns() -> list[float]:
        return [nanoseconds(link.use.busy_ticks, model.ticks_per_ns) or 0 for link in links]

    columns: dict[str, Column] = {
        "dimension": ("whole", lambda: [link.dimension for link in links]),
        "source": ("whole", lambda: [link.source for link in links]),
        "destination": ("whole", lambda: [link.destination for link in links]),
        "bytes": ("whole", lambda: [link.use.bytes for link in links]),
        "messages": ("whole", lambda: [link.use.messages for link in links]),
        "busy_ns": ("real", busy_ns),
        "busy": ("real", lambda: [_share(busy, makespan_ns) for busy in busy_ns()]),
    }
    return Table("links", len(links), columns)


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
