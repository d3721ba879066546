"""ASTRA-sim's analytical network file (YAML) -> Topology.

A GB/s is 2^30 bytes per 10^9 ns, computed in doubles in the order written here. As in yaml-cpp,
integers may be octal (`010`) or hexadecimal (`0x10`), and the first of repeated keys or documents
counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import path as paths
from typing import Any

from yantra.astra_sim.keys import unknown
from yantra.astra_sim.numbers import LARGEST, read_integer, read_number, read_rate
from yantra.base.documents import Path, parse_lenient_yaml, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got, show
from yantra.base.fields.plugin_names import read_name
from yantra.scenario.astra_sim_keys import LISTS, NETWORK, TOPOLOGIES
from yantra.scenario.types import Dimension, Topology


def read_network(path: Path, network: str) -> tuple[Topology, list[str]]:
    """Read a network file for one of the two analytical backends; also return the warnings."""
    name = str(path)
    tree, warnings = parse_lenient_yaml(read_text(path), name, last_counts=False)
    if tree is None:
        tree = {}
    if not isinstance(tree, dict):
        raise ConfigError(name, expected_got("a mapping with topology, npus_count, ...", tree))
    if "npus_count" not in tree:
        _refuse_version_one(tree, name)
    warnings += [
        f"{name}: {show(key)}: {unknown(key, NETWORK)}" for key in tree if key not in LISTS
    ]
    columns = [_column(tree, key, name) for key in LISTS]
    for key, column in zip(LISTS, columns, strict=True):
        if len(column) != len(columns[0]):
            entry = "entry" if len(column) == 1 else "entries"
            raise ConfigError(
                f'{name}: "{key}"',
                f'has {len(column)} {entry}, but "topology" has {len(columns[0])}; '
                "expected one entry per dimension",
            )
    rows = enumerate(zip(*columns, strict=True))
    topology = Topology(dimensions=tuple(_dimension(name, at, *row) for at, row in rows))
    if network == "store_and_forward":
        warnings += _beyond_upstream(topology, name)
    return topology, warnings


def _refuse_version_one(tree: dict[str, Any], name: str) -> None:
    from yantra.astra_sim import version_one

    problem = version_one.network(tree)
    if problem is not None:
        raise ConfigError(name, problem)


def written(columns: Mapping[str, Sequence[str]]) -> str:
    return "".join(f"{key}: [ {', '.join(columns[key])} ]\n" for key in LISTS)


def bytes_per_ns(gigabytes_per_s: float) -> float:
    """ASTRA-sim's link bandwidth: its GB is 2^30 bytes, its s is 10^9 ns."""
    return min(gigabytes_per_s * 1073741824 / 1000000000, LARGEST)


def _column(tree: dict[str, Any], key: str, name: str) -> list[str]:
    column = tree.get(key)
    where = f'{name}: "{key}"'
    if column is None:
        raise ConfigError(where, "missing; expected a list with one entry per dimension")
    if not isinstance(column, list) or not all(isinstance(entry, str) for entry in column):
        raise ConfigError(where, expected_got("a list with one entry per dimension", column))
    if not column:
        raise ConfigError(where, "expected at least one dimension, got []")
    return column


def _dimension(name: str, at: int, kind: str, size: str, gb_per_s: str, ns: str) -> Dimension:
    def where(key: str) -> str:
        return f'{name}: "{key}[{at}]"'

    own = TOPOLOGIES.get(kind) or _added(kind, name)
    if own is None:
        *most, last = TOPOLOGIES
        expected = expected_got(f"{', '.join(most)} or {last}", kind)
        hint = did_you_mean(kind, TOPOLOGIES)
        raise ConfigError(where("topology"), f"unknown topology; {expected}{hint}")
    ranks = read_integer(size, where("npus_count"), octal=True)
    if ranks < 2:
        raise ConfigError(where("npus_count"), f"must be at least 2; got {ranks}")
    bandwidth = read_rate(gb_per_s, where("bandwidth"))
    if bandwidth <= 0:
        raise ConfigError(where("bandwidth"), f"must be above 0 (GB/s); got {gb_per_s}")
    latency = read_number(ns, where("latency"))
    if latency < 0:
        raise ConfigError(where("latency"), f"must be at least 0 (ns); got {ns}")
    return Dimension(kind=own, size=ranks, bytes_per_ns=bytes_per_ns(bandwidth), latency_ns=latency)


def _added(kind: str, name: str) -> str | None:
    from yantra.fabric.topologies import topologies

    given = read_name(kind, paths.dirname(name), f'{name}: "topology"')
    return given if topologies.file_of(given) is not None else None


def _beyond_upstream(topology: Topology, name: str) -> list[str]:
    first, *others = topology.dimensions
    if others:
        return [
            f'{name}: "topology": ASTRA-sim refuses a congestion-aware network of '
            f"{len(others) + 1} dimensions; here a message crosses them in ascending order"
        ]
    if first.kind == "ring" and first.size == 2:
        return [
            f'{name}: "npus_count[0]": ASTRA-sim aborts on a congestion-aware Ring of 2 NPUs, as '
            "both directions join one pair; here that pair has one link each way"
        ]
    return []
