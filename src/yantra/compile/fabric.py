"""A scenario's fabric: graph, routing and placement for the core."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra import _core
from yantra import network as networks
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.fields import Plugin
from yantra.compile.removal import NOTHING, Without, bandwidth_of_dimension
from yantra.fabric.graphs import beside, builder_of, files, graph_of, link_changes, read
from yantra.fabric.graphs.graph import Graph
from yantra.fabric.graphs.link_changes import LinkChange
from yantra.fabric.graphs.notation import is_notation, parse
from yantra.fabric.graphs.placement import placed
from yantra.network import routings
from yantra.scenario import Scenario

if TYPE_CHECKING:
    from numpy.typing import NDArray


_BY_COORDINATES = frozenset(("ring", "fully_connected", "switch"))
"""Topologies where dimensions in sequence reach every rank."""


class OnFabric(NamedTuple):
    """A graph, each rank's device, and stated changes of links.

    `as_run`: without what takes no time.
    """

    graph: Graph
    as_run: Graph
    placement: NDArray[np.uint32]
    changes: Sequence[LinkChange]

    @property
    def changed_at_ns(self) -> tuple[float, ...]:
        """When they happen."""
        return tuple(change.at_ns for change in self.changes)


def set_fabric(
    builder: _core.ModelBuilder,
    scenario: Scenario,
    without: Without = NOTHING,
    slower: float = 1.0,
) -> OnFabric | None:
    """Give a model the scenario's fabric, if any, and return it.

    `bandwidth_of_dimension` in `without` means a label's links; messages take `slower` times as
    long. Raises ConfigError if the network does not run over fabrics, or ranks do not fit.
    """
    level = networks.level_of(scenario.network)
    if scenario.fabric is None and level.has("needs_fabric") and "contention" not in without:
        routing = scenario.routing or _routing_of_dimensions(scenario)
        fabric = _of_dimensions(scenario, level.name)
        scenario = scenario.replace(fabric=fabric, routing=routing)
    if scenario.fabric is None:
        return None
    if "contention" in without:
        raise UnsupportedError(
            "without contention: no network without it runs over a fabric; remove bandwidth or "
            "latency, or run the scenario without cluster.fabric"
        )
    if not level.has("on_fabric"):
        able = [name for name in networks.names() if networks.find(name).has("on_fabric")]
        advice = f"take one of {', '.join(able)}" if able else "no network of this version does"
        problem = f"the network {level.name} does not run over a fabric; {advice}"
        if by_tier := [name for name in able if networks.find(name).has("takes_tiers")]:
            problem += f"; for the formula of each message alone, {by_tier[0]} with all tiers"
            problem += " in tier_networks"
        raise ConfigError("cluster.fabric", problem)
    graph = graph_of_scenario(scenario)
    placement = placed(scenario.placement, scenario.topology.ranks, graph, "cluster")
    _check_listed(scenario, graph)
    name, options, seed = routings.chosen(scenario.routing or routings.DEFAULT, "cluster.routing")
    if routings.find(name, "cluster.routing").by_load and not level.sees_loads:
        problem = f"{name} goes by the load of links, which {level.name} shows to no routing"
        raise ConfigError("cluster.routing", f"{problem}; take the network flow or packet, or ecmp")
    as_run = _changed(graph, without, slower)
    try:
        builder.set_fabric(native(as_run), name, options, seed, placement)
    except ValueError as error:
        raise ConfigError("cluster.routing", str(error)) from None
    listed = scenario.link_changes
    changes = () if listed is None else link_changes.read(listed, graph)
    return OnFabric(graph, as_run, placement, changes)


def _changed(graph: Graph, without: Without, slower: float) -> Graph:
    labels = range(len(graph.labels))
    free = [not without.isdisjoint({"bandwidth", bandwidth_of_dimension(at)}) for at in labels]
    if not any(free) and "latency" not in without and slower == 1.0:
        return graph
    links = graph.links
    rates = np.where(np.array(free)[links.label], np.inf, links.bytes_per_ns / slower)
    latency = links.latency_ns * (0.0 if "latency" in without else slower)
    changed = copy(graph)
    changed.links = links._replace(bytes_per_ns=rates, latency_ns=latency)
    return changed


def graph_of_scenario(scenario: Scenario) -> Graph:
    where = "cluster.fabric"
    assert scenario.fabric is not None
    graph = _graph_of(beside.own_of(scenario.fabric), scenario, where)
    return beside.with_beside(graph, beside.beside_of(scenario.fabric), f"{where}.")


def _graph_of(fabric: Plugin, scenario: Scenario, where: str) -> Graph:
    if isinstance(fabric.kind, str) and files.is_file(fabric.kind):
        return files.read(fabric.kind, dict(fabric.options).get("links", ()), where)
    if isinstance(fabric.kind, str) and is_notation(fabric.kind):
        return graph_of(read("product", _rates_of(fabric, scenario), where), where)
    return graph_of(builder_of(fabric, where), where)


def native(graph: Graph) -> _core.FabricGraph:
    links = graph.links
    count = len(links.start)
    return _core.FabricGraph(
        graph.ranks,
        graph.kinds,
        links.start.astype(np.int32),
        links.end.astype(np.int32),
        np.ascontiguousarray(links.bytes_per_ns),
        np.ascontiguousarray(links.latency_ns),
        np.zeros(count, np.int64) if graph.buffers is None else graph.buffers[links.start],
        links.label.astype(np.int32),
        graph.labels,
        np.ones(count) if graph.weights is None else np.ascontiguousarray(graph.weights),
        graph.boxes,
        None if graph.coordinates is None else np.ascontiguousarray(graph.coordinates),
        graph.names or (),
        () if graph.names else [(tier.name, tier.size) for tier in graph.tiers],
    )


def links_between(graph: Graph, routing: str, source: int, destination: int) -> list[int]:
    return [int(link) for link in _core.Router(native(graph), routing).path(source, destination)]


def _of_dimensions(scenario: Scenario, network: str) -> Plugin:
    parts = []
    for at, one in enumerate(scenario.topology.dimensions):
        if not isinstance(one.kind, str) or one.kind.endswith(".py"):
            raise ConfigError(
                f"cluster.topology[{at}].kind",
                f"the network {network} runs over devices and links, which it knows of the named "
                "topologies alone; give it a graph, cluster.fabric",
            )
        parts.append(f"{one.kind}({one.size})")
    return Plugin(kind="_".join(parts))


def _routing_of_dimensions(scenario: Scenario) -> str:
    # Blocks route dimension by dimension, the same for all ranks: on a ring the shorter way,
    # upwards on a tie. A hash would draw ties by rank number, and times depend on it.
    kinds = {one.kind for one in scenario.topology.dimensions}
    return "dimension_ordered" if kinds <= _BY_COORDINATES else routings.DEFAULT


def _rates_of(fabric: Plugin, scenario: Scenario) -> dict[str, object]:
    # `cluster.topology` has the rates of a notation.
    dimensions = scenario.topology.dimensions
    parts = parse(str(fabric.kind), "cluster.fabric")
    if len(parts) != len(dimensions):
        raise ConfigError(
            "cluster.fabric",
            f"{fabric.kind} has {len(parts)} dimensions, cluster.topology {len(dimensions)}, whose "
            "bandwidth and latency it takes; write {kind: product, dimensions: "
            f"{fabric.kind}, bandwidth: [...], latency: [...]}}",
        )
    return {
        "dimensions": fabric.kind,
        "bandwidth": [f"{one.bytes_per_ns!r} GB/s" for one in dimensions],
        "latency": [f"{one.latency_ns!r} ns" for one in dimensions],
    }


def _check_listed(scenario: Scenario, graph: Graph) -> None:
    for device in scenario.placement.devices:
        if device >= graph.ranks:
            problem = f"expected devices from 0 to {graph.ranks - 1}, got {device}"
            raise ConfigError("cluster.placement", problem)
