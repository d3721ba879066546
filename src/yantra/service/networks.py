"""A configuration's network as its backend's files.

Analytical: the lists of ASTRA-sim's network file. ns-3: configuration, topology, logical
dimensions. htsim: the lists, and the fat tree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from yantra.astra_sim.network import written
from yantra.base.errors import ConfigError, expected_got
from yantra.scenario.astra_sim_keys import LISTS, TOPOLOGIES

ANALYTICAL = "analytical_network.yml"
NS3_NETWORK, NS3_TOPOLOGY, NS3_LOGICAL = (
    "network_config.txt",
    "nc-topology-file.txt",
    "logical.json",
)
HTSIM_TOPOLOGY = "htsim.topo"

_KINDS = {own.replace("_", ""): name for name, own in TOPOLOGIES.items()}
_WORD = re.compile(r"[0-9A-Za-z.+-]+")


class Files(NamedTuple):
    """Texts by file name, which of them are options, and warnings."""

    texts: dict[str, str]
    options: dict[str, str]
    warnings: tuple[str, ...] = ()


def files(backend: str, network: Mapping[str, Any], where: str) -> Files:
    topology = network["topology"]
    if backend == "ns3":
        return _ns3(network, topology, where)
    if backend == "htsim":
        given = topology.get("network_topology_configuration", {})
        fat_tree = given.get("htsim_topology", {}).get("fat_tree")
        if not fat_tree:
            raise ConfigError(f"{where}.topology.htsim_topology.fat_tree", "missing")
        return htsim(given.get("network", []), fat_tree, network, where)
    return analytical(topology.get("network", []), f"{where}.topology.network")


def analytical(dimensions: Sequence[Mapping[str, Any]], where: str) -> Files:
    text = _lists(dimensions, where)
    return Files({ANALYTICAL: text}, {"network-configuration": ANALYTICAL})


def ns3(network: Mapping[str, Any], topology: str, name: str, dimensions: Sequence[int]) -> Files:
    texts = {
        NS3_NETWORK: _ns3_network(network.get("network", {})),
        name: topology,
        NS3_LOGICAL: json.dumps({"logical-dims": [str(size) for size in dimensions]}),
    }
    options = {
        "network-configuration": NS3_NETWORK,
        "topology": name,
        "logical-topology-configuration": NS3_LOGICAL,
    }
    return Files(texts, options)


def htsim(
    dimensions: Sequence[Mapping[str, Any]],
    fat_tree: Mapping[str, Any],
    network: Mapping[str, Any],
    where: str,
) -> Files:
    lines = [f"{key.capitalize()} {fat_tree[key]}" for key in ("nodes", "tiers", "podsize")
             if key in fat_tree]  # fmt: skip
    for at in range(3):
        tier = fat_tree.get(f"tier_{at}")
        if tier is not None:
            lines += [f"Tier {at}", *(f"{key} {value}" for key, value in tier.items())]
    texts = {
        ANALYTICAL: _lists(dimensions, f"{where}.topology.network"),
        HTSIM_TOPOLOGY: "\n".join(lines) + "\n",
    }
    options = {"network-configuration": ANALYTICAL, "topology": HTSIM_TOPOLOGY}
    return Files(texts, options)


def _lists(dimensions: Sequence[Mapping[str, Any]], where: str) -> str:
    if not dimensions:
        raise ConfigError(where, "missing; expected at least one dimension")
    columns: dict[str, list[str]] = {key: [] for key in LISTS}
    for at, row in enumerate(dimensions):
        for key in LISTS:
            if row.get(key) in (None, "unspecified"):
                raise ConfigError(f"{where}[{at}].{key}", "missing")
            columns[key].append(_KINDS.get(row[key], str(row[key])))
    return written(columns)


def _ns3(network: Mapping[str, Any], topology: Mapping[str, Any], where: str) -> Files:
    given = topology.get("nc_topology")
    if not given:
        raise ConfigError(f"{where}.topology.nc_topology", "missing")
    dimensions = network.get("logical_topology", {}).get("logical_dimensions")
    if not dimensions:
        raise ConfigError(f"{where}.logical_topology.logical_dimensions", "missing")
    text = _nc_topology(given, f"{where}.topology.nc_topology")
    return ns3(network, text, NS3_TOPOLOGY, dimensions)


def _nc_topology(given: Mapping[str, Any], where: str) -> str:
    switches = given.get("switch_ids", [])
    cables = given.get("connections", [])
    for key, count in (("total_switches", len(switches)), ("total_links", len(cables))):
        if given.get(key, count) != count:
            raise ConfigError(f"{where}.{key}", f"is {given[key]}, but {count} are listed")
    lines = [f"{given.get('total_nodes', 0)} {len(switches)} {len(cables)}"]
    lines.append(" ".join(map(str, switches)))
    for at, cable in enumerate(cables):
        words = [str(cable.get(end, 0)) for end in ("source_index", "destination_index")]
        for key, default in (("bandwidth", ""), ("latency", ""), ("error_rate", "0")):
            word = cable.get(key, default)
            if not _WORD.fullmatch(word):
                problem = expected_got("one word, such as 100Gbps or 0.005ms", word)
                raise ConfigError(f"{where}.connections[{at}].{key}", problem)
            words.append(word)
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def _ns3_network(given: Mapping[str, Any]) -> str:
    lines = []
    for key, value in given.items():
        words = value if isinstance(value, list) else [value]
        lines.append(" ".join([key.upper(), *(" ".join(str(word).split()) for word in words)]))
    return "\n".join(lines) + "\n"
