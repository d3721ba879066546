"""A configuration's files as a Scenario: ns-3 as the packet network, htsim's TCP as the flow
network, as max-min sharing is what TCP aims at.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from yantra.astra_sim import from_files
from yantra.astra_sim.groups import read_groups
from yantra.astra_sim.memory import read_memory
from yantra.astra_sim.network import read_network
from yantra.astra_sim.system import SystemOptions, read_system
from yantra.base.documents import parse_json, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.fields import Plugin
from yantra.base.whole_numbers import is_whole
from yantra.fabric.graphs import files as graph_files
from yantra.fabric.infragraph import is_infragraph
from yantra.scenario.types import (
    ASTRA_SIM_RESOURCES,
    ChakraFiles,
    Dimension,
    Placement,
    Scenario,
    Topology,
)
from yantra.service import fat_tree, packets
from yantra.service.algorithms import ours
from yantra.service.dimensions import first_of_boxes, own_speed, write_network
from yantra.service.involved import completed

_ANALYTICAL = {
    "analytical_congestion_aware": "congestion-aware",
    "analytical_congestion_unaware": "congestion-unaware",
}
_NETWORK = "network-configuration"

Options = Mapping[str, str]
"""ASTRA-sim's options without dashes, and `topology`, a graph's file."""


def read(backend: str, options: Options) -> tuple[Scenario, list[str]]:
    if backend in _ANALYTICAL:
        scenario, warnings = _analytical(_ANALYTICAL[backend], options)
    else:
        scenario, warnings = (_ns3 if backend == "ns3" else _htsim)(options)
    scenario, others = completed(scenario)
    return scenario, warnings + others


def _analytical(network: str, options: Options) -> tuple[Scenario, list[str]]:
    path = options.get(_NETWORK)
    if path is None:
        path = write_network(options["topology"])
    return from_files(
        workload=options["workload-configuration"],
        system=options["system-configuration"],
        network=path,
        memory=options["remote-memory-configuration"],
        groups=options.get("comm-group-configuration"),
        num_queues_per_dim=int(options.get("num-queues-per-dim", 1)),
        injection_scale=float(options.get("injection-scale", 1)),
        comm_scale=float(options.get("comm-scale", 1)),
        rendezvous=options.get("rendezvous-protocol") == "true",
        network_backend=network,
    )


def _ns3(options: Options) -> tuple[Scenario, list[str]]:
    network, warnings = packets.read(options[_NETWORK])
    sizes = _logical(options["logical-topology-configuration"])
    scenario, others = _over_graph(options, options["topology"], sizes, network)
    return scenario, warnings + others


def _htsim(options: Options) -> tuple[Scenario, list[str]]:
    topology = options["topology"]
    warnings = ["htsim: its TCP is not modelled; flows share links max-min fairly (network flow)"]
    placement = Placement()
    if is_infragraph(topology):
        # htsim has hosts without devices: a host is a rank, at its first device.
        firsts = first_of_boxes(graph_files.read(topology))
        sizes: Sequence[int] = [len(firsts)]
        placement = Placement(kind="list", devices=firsts)
    else:
        topology = fat_tree.write_links(topology)
        dimensions, others = read_network(options[_NETWORK], "analytical")
        sizes = [dimension.size for dimension in dimensions.dimensions]
        warnings += others
    scenario, others = _over_graph(options, topology, sizes, Plugin(kind="flow"))
    scenario = scenario.replace(placement=placement)
    return scenario, warnings + others


def _over_graph(
    options: Options, path: str, sizes: Sequence[int], network: Plugin
) -> tuple[Scenario, list[str]]:
    graph = graph_files.read(path)
    sizes = sizes or [graph.ranks]
    system, warnings = read_system(
        options["system-configuration"],
        SystemOptions(
            dimensions=len(sizes),
            num_queues_per_dim=int(options.get("num-queues-per-dim", 1)),
            injection_scale=float(options.get("injection-scale", 1)),
            rendezvous=options.get("rendezvous-protocol") == "true",
        ),
    )
    collectives, sizes = ours(system.collectives, sizes)
    # Collectives use these dimensions' sizes; speed is the graph's.
    rate, latency = own_speed(graph)
    topology = Topology(
        dimensions=tuple(
            Dimension(kind="switch", size=size, bytes_per_ns=rate, latency_ns=latency)
            for size in sizes
        )
    )
    if topology.ranks > graph.ranks:
        problem = f"has {graph.ranks} ranks, but the logical dimensions {list(sizes)} have"
        raise ConfigError(os.path.basename(path), f"{problem} {topology.ranks}")
    memory, of_memory = read_memory(options["remote-memory-configuration"], topology.ranks)
    groups = options.get("comm-group-configuration")
    members, of_groups = ((), []) if groups is None else read_groups(groups, topology.ranks)
    scenario = Scenario(
        workload=ChakraFiles(prefix=options["workload-configuration"], groups=members),
        topology=topology,
        fabric=Plugin(kind=path),
        device=system.device,
        memory=memory,
        network=network,
        collectives=collectives,
        resources=ASTRA_SIM_RESOURCES,
        replay_only=system.replay_only,
        trace_nodes=system.trace_nodes,
        track_local_memory=system.track_local_memory,
        local_memory_trace=system.local_memory_trace,
    )
    return scenario, warnings + of_memory + of_groups


def _logical(path: str) -> list[int]:
    tree, _ = parse_json(read_text(path), path)
    sizes = tree.get("logical-dims") if isinstance(tree, dict) else None
    words = sizes if isinstance(sizes, list) else []
    if not words or not all(isinstance(word, str) and is_whole(word) for word in words):
        raise ConfigError(os.path.basename(path), expected_got("sizes of dimensions", sizes))
    return [int(word) for word in words]
