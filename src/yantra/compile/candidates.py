"""Ways to run a group's collective under native semantics; its closed form picks one.

| the members | ways |
| --- | --- |
| a product of coordinates | the algorithm of each dimension, over the members in it |
| others that share nodes, or a collective with a root | stages in and across nodes (`in_nodes`) |
| any others | one algorithm over all; an all-to-all sends every message at once |

A broadcast or reduce may be a tree, best for few bytes, or a chain; where every two members have a
link of their own, also parts over all links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from yantra.collectives import in_nodes
from yantra.collectives.schedule import Kind
from yantra.fabric.topologies import topologies

if TYPE_CHECKING:
    from yantra.base.plugin_files import Named
    from yantra.compile.communicators import Layout
    from yantra.scenario import Dimension, Scenario

ROOTED = (Kind.BROADCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER)
CHAIN, SPREAD, STAR, AT_ONCE = "chain", "spread", "star", "direct"
_ANY = {Kind.ALL_TO_ALL: "direct1"}
_OF_LINKS = "fully_connected"
_OF_NODES = ("switch", _OF_LINKS)


class Along(NamedTuple):
    """A level: number of members, stride in ranks and in members, dimension, coordinates.

    Coordinates are empty for a whole dimension.
    """

    size: int
    stride: int
    index_stride: int
    dimension: int
    coordinates: tuple[int, ...] = ()


class Over(NamedTuple):
    """An algorithm per level, or for all members without levels."""

    names: tuple[Named, ...]
    levels: tuple[Along, ...] = ()


class InNodes(NamedTuple):
    """Stages in and across nodes; `rails` connect nodes, `fewest`: members of the smallest."""

    nodes: in_nodes.Nodes
    stages: in_nodes.Stages

    @property
    def words(self) -> str:
        sizes = sorted({len(node) for node in self.nodes})
        members = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        rails = sizes[0]
        return (
            f"rails: {len(self.nodes)} nodes of {members}, "
            f"{rails} {'adapters' if rails > 1 else 'adapter'} each"
        )


def ways(
    scenario: Scenario, layout: Layout, kind: Kind, names: tuple[Named, ...], *, usual: bool
) -> list[Over | InNodes]:
    """Ways of a group of several members, simplest first.

    `names`: per dimension, or one; `usual`: nobody chose them.
    """
    dimensions = scenario.topology.dimensions
    by_dimension = len(names) == len(dimensions)
    levels = _levels(scenario, layout) if by_dimension else ()
    staged = _staged(scenario, layout, kind) if usual or _is_uneven(layout) else None
    pairs = kind in (Kind.BROADCAST, Kind.REDUCE) and usual
    if levels:
        fitting = tuple(_fitting(kind, names, one, dimensions[one.dimension]) for one in levels)
        found: list[Over | InNodes] = [Over(fitting, levels)]
        if pairs and staged is None:
            found.append(Over((CHAIN,) * len(levels), levels))
            own = [dimensions[one.dimension].kind for one in levels]
            if any(topologies.shown(kind) == _OF_LINKS for kind in own):
                has = (topologies.shown(kind) == _OF_LINKS for kind in own)
                found.append(Over(tuple(SPREAD if one else CHAIN for one in has), levels))
    elif kind is Kind.ALL_TO_ALL and by_dimension and _is_uneven(layout):
        found = [Over((AT_ONCE,))]
    elif staged is not None and by_dimension and not pairs:
        found = []
    else:
        found = [Over(_flat(kind, names, layout))]
        if pairs and staged is None:
            found.append(Over((CHAIN,)))
    if staged is not None and (pairs or not levels):
        found.append(staged)
    return found


def _is_uneven(layout: Layout) -> bool:
    return layout.residue is not None


def _levels(scenario: Scenario, layout: Layout) -> tuple[Along, ...]:
    """Empty unless the members are a product of coordinates."""
    sizes = [dimension.size for dimension in scenario.topology.dimensions]
    coordinates = layout.coordinates
    if layout.spans_all and not layout.is_listed:
        coordinates = tuple(tuple(range(size)) for size in sizes)
    if coordinates is None:
        return ()
    levels = []
    stride = index_stride = 1
    for dimension, (along, size) in enumerate(zip(coordinates, sizes, strict=True)):
        if len(along) > 1 or layout.spans_all:
            part = () if len(along) == size else along
            levels.append(Along(len(along), stride, index_stride, dimension, part))
        index_stride *= len(along)
        stride *= size
    return tuple(levels)


def _fitting(kind: Kind, names: tuple[Named, ...], along: Along, dimension: Dimension) -> Named:
    """The dimension's algorithm, or one for fewer of its ranks."""
    from yantra.collectives import find

    name, where = names[along.dimension], f"collectives.{kind.value}[{along.dimension}]"
    if along.size < 2 or find(name, where).supports(kind, along.size) is None:
        return name
    others = "pat" if topologies.shown(dimension.kind) in _OF_NODES else "ring"
    other = _ANY.get(kind, others)
    return other if find(other).supports(kind, along.size) is None else name


def _flat(kind: Kind, names: tuple[Named, ...], layout: Layout) -> tuple[Named, ...]:
    if len(set(names)) == 1:
        return names[:1]
    return (_ANY.get(kind, "ring"),)


def _staged(scenario: Scenario, layout: Layout, kind: Kind) -> InNodes | None:
    """None without nodes, or if they would be too many moves."""
    dimensions = scenario.topology.dimensions
    inner = dimensions[0]
    has_nodes = len(dimensions) > 1 and topologies.shown(inner.kind) in _OF_NODES
    is_placed = layout.spans_all or layout.residue is not None or layout.coordinates is not None
    if not has_nodes or not is_placed or kind not in in_nodes.KINDS or scenario.fabric is not None:
        return None
    nodes = nodes_of(layout, inner.size)
    if len(nodes) < 2:
        return None
    stages = in_nodes.stages(kind, nodes)
    return None if stages is None else InNodes(nodes, stages)


def nodes_of(layout: Layout, inner: int) -> in_nodes.Nodes:
    by_node: dict[int, dict[int, int]] = {}
    for position, offset in enumerate(layout.offsets()):
        node, place = divmod((layout.residue or 0) + offset, inner)
        by_node.setdefault(node, {})[place] = position
    everywhere = set.intersection(*(set(places) for places in by_node.values()))
    return tuple(
        tuple(
            places[place] for place in sorted(places, key=lambda one: (one not in everywhere, one))
        )
        for _, places in sorted(by_node.items())
    )
