"""Topology of a scenario -> dimensions of the core: its own blocks, or tables of links."""

from __future__ import annotations

from yantra import _core
from yantra.compile.removal import Without, bandwidth_of, latency_of
from yantra.errors import ConfigError
from yantra.scenario import Topology
from yantra.topologies import find
from yantra.topologies.routes import TopologyError, table_of
from yantra.topologies.topology import Block


def add_dimensions(builder: _core.ModelBuilder, topology: Topology, without: Without) -> None:
    """Add the dimensions of a topology to a model, less what takes no time in it."""
    tables: dict[tuple[str, int], _core.BlockTable] = {}
    for at, dimension in enumerate(topology.dimensions):
        where = f"cluster.topology[{at}].kind"
        block = find(dimension.kind, where)
        table = None
        if block.native is None:
            key = (dimension.kind, dimension.size)
            if key not in tables:
                tables[key] = _table(block, *key, where)
            table = tables[key]
        builder.add_dimension(
            _core.Dimension(
                block=_core.Block[(block.native or "table").upper()],
                size=dimension.size,
                bytes_per_ns=bandwidth_of(dimension, without),
                latency_ns=latency_of(dimension, without),
                weight=_gib_per_s(dimension.bytes_per_ns),
            ),
            table,
        )


def _table(block: Block, name: str, size: int, where: str) -> _core.BlockTable:
    try:
        table = table_of(block, size)
    except TopologyError as error:
        raise ConfigError(
            where,
            f"{name} is broken over {size} ranks: {error}; "
            f"check it with python -m yantra.topologies.contract {name}",
        ) from None
    link_from, link_to = zip(*table.links, strict=True)
    return _core.BlockTable(size, table.devices, link_from, link_to, table.next_link)


def _gib_per_s(bytes_per_ns: float) -> float:
    """Return a bandwidth in the unit of ASTRA-sim's files, whose ratios decide ties of Themis.

    Two roundings lie between the file and here; 15 digits, as many as a double keeps, undo them.
    """
    return float(f"{bytes_per_ns * 1e9 / 2**30:.15g}")
