"""A scenario's topology and network for the core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra import _core
from yantra import network as networks
from yantra.base.errors import ConfigError
from yantra.base.plugin_files import Named
from yantra.compile.removal import Without, bandwidth_of, latency_of
from yantra.fabric.topologies import find, topologies
from yantra.fabric.topologies.topology import Block
from yantra.scenario import Dimension as ScenarioDimension
from yantra.scenario import Scenario, Topology

if TYPE_CHECKING:
    from yantra.fabric.graphs.graph import Graph


def add_dimensions(
    builder: _core.ModelBuilder, topology: Topology, without: Without, slower: float = 1.0
) -> None:
    """Add a topology's dimensions without removed causes.

    Messages take `slower` times as long.
    """
    tables: dict[tuple[Named, int], _core.BlockTable] = {}
    for at, dimension in enumerate(topology.dimensions):
        where = f"cluster.topology[{at}].kind"
        block = find(dimension.kind, where)
        table = None
        if block.native is None:
            key = (dimension.kind, dimension.size)
            if key not in tables:
                tables[key] = _table(block, dimension, where)
            table = tables[key]
        builder.add_dimension(
            _core.Dimension(
                block=_core.Block[(block.native or "table").upper()],
                size=dimension.size,
                bytes_per_ns=bandwidth_of(at, dimension, without) / slower,
                latency_ns=latency_of(dimension, without) * slower,
                weight=_gib_per_s(dimension.bytes_per_ns),
            ),
            table,
        )


def set_network(
    builder: _core.ModelBuilder,
    scenario: Scenario,
    without: Without,
    ticks_per_ns: int,
    graph: Graph | None,
) -> None:
    """Set the scenario's network, or one without contention.

    `graph`: the fabric, if any.
    """
    if "contention" in without:
        builder.set_network("analytical", {})
        return
    level = networks.level_of(scenario.network)
    if level.model is None:
        builder.set_network(level.name, networks.native_options(scenario.network))
        return
    from yantra.network.model import Dimension, Fabric

    dimensions = (
        Dimension(d.kind, d.size, bandwidth_of(at, d, without), latency_of(d, without))
        for at, d in enumerate(scenario.topology.dimensions)
    )
    fabric = Fabric(tuple(dimensions), graph)
    make = networks.maker(scenario.network, fabric, ticks_per_ns)
    builder.set_network_from_outside(make, networks.wants_routes(scenario.network))


def needs_fabric(scenario: Scenario) -> bool:
    return networks.level_of(scenario.network).has("needs_fabric")


def _table(block: Block, dimension: ScenarioDimension, where: str) -> _core.BlockTable:
    from yantra.fabric.topologies.routes import TopologyError, table_of

    size = dimension.size
    try:
        table = table_of(block, size)
    except TopologyError as error:
        name = topologies.shown(dimension.kind)
        given = topologies.written(dimension.kind)
        advice = f"; check it with yantra contract topology {given}" if given else ""
        raise ConfigError(where, f"{name} is broken over {size} ranks: {error}{advice}") from None
    link_from, link_to = zip(*table.links, strict=True)
    return _core.BlockTable(size, table.devices, link_from, link_to, table.next_link)


def _gib_per_s(bytes_per_ns: float) -> float:
    """The unit of ASTRA-sim's files, whose ratios decide ties of Themis."""
    return float(f"{bytes_per_ns * 1e9 / 2**30:.15g}")
