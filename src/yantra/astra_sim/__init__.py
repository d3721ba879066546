"""ASTRA-sim 2's input files, unchanged, to a Scenario with its semantics.

What ASTRA-sim silently ignores or bends comes back as warnings.
"""

from __future__ import annotations

import math
from os import fspath
from os import path as paths
from typing import TYPE_CHECKING, Literal

from yantra.astra_sim.flags import CHOICES, NETWORKS
from yantra.astra_sim.groups import read_groups
from yantra.astra_sim.memory import read_memory
from yantra.astra_sim.network import read_network
from yantra.astra_sim.system import SchedulingKeys, SystemOptions, read_system
from yantra.base.documents import Path
from yantra.base.errors import ConfigError, expected_got
from yantra.scenario.types import (
    ASTRA_SIM_RESOURCES,
    ChakraFiles,
    Scenario,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.astra_sim.flags import Flags
    from yantra.base.fields import Plugin, PluginChoice
    from yantra.scenario.types import Topology


def from_files(
    *,
    workload: Path,
    system: Path,
    network: Path,
    memory: Path,
    groups: Path | None = None,
    num_queues_per_dim: int = 1,
    injection_scale: float = 1.0,
    comm_scale: float = 1.0,
    compute_scale: float = 1.0,
    rendezvous: bool = False,
    network_backend: str = "congestion-unaware",
    logical_topology: Path | None = None,
    scheduling_keys: SchedulingKeys = "ignore",
    semantics: Literal["astra-sim", "astra-sim@mlsys26"] = "astra-sim",
    directory: Path = "",
) -> tuple[Scenario, list[str]]:
    """Read the files of one ASTRA-sim run; return the scenario and the warnings.

    `groups` is None, or a path; one that contains `empty` means none. Relative paths start from
    `directory`. Raises ConfigError, or UnsupportedError for what no model covers.
    """
    _check_options(num_queues_per_dim, injection_scale, network_backend, scheduling_keys)
    folder = fspath(directory)

    def at(path: Path) -> str:
        return paths.join(folder, path)

    topology, fabric, backend, of_network = _network(at, network, logical_topology, network_backend)
    remote_memory, of_memory = read_memory(at(memory), topology.ranks)
    options = SystemOptions(
        dimensions=len(topology.dimensions),
        num_queues_per_dim=num_queues_per_dim,
        injection_scale=injection_scale,
        rendezvous=rendezvous,
        scheduling_keys=scheduling_keys,
        directory=folder,
    )
    parts, of_system = read_system(at(system), options)
    files, of_groups = _workload(at, workload, groups, topology.ranks)
    scenario = Scenario(
        workload=files,
        topology=topology,
        device=parts.device,
        memory=remote_memory,
        network=backend,
        fabric=fabric,
        collectives=parts.collectives,
        resources=ASTRA_SIM_RESOURCES,
        semantics=semantics,
        replay_only=parts.replay_only,
        trace_nodes=parts.trace_nodes,
        track_local_memory=parts.track_local_memory,
        local_memory_trace=parts.local_memory_trace,
    )
    of_scales = _unused_scales(comm_scale=comm_scale, compute_scale=compute_scale)
    return scenario, of_scales + of_network + of_memory + of_system + of_groups


def from_flags(flags: Flags) -> tuple[Scenario, list[str]]:
    """Read the files a command line names; return the scenario and all warnings.

    The caller checks `flags.quirks`.
    """
    scenario, warnings = from_files(
        workload=flags.workload,
        system=flags.system,
        network=flags.network,
        memory=flags.memory,
        groups=flags.groups,
        num_queues_per_dim=flags.num_queues_per_dim,
        injection_scale=flags.injection_scale,
        comm_scale=flags.comm_scale,
        compute_scale=flags.compute_scale,
        rendezvous=flags.rendezvous,
        network_backend=flags.network_backend,
        logical_topology=flags.logical_topology or None,
        scheduling_keys=flags.scheduling_keys,
        semantics=flags.semantics,
    )
    return scenario, [*flags.warnings, *warnings]


def _network(
    at: Callable[[Path], str], path: Path, logical: Path | None, backend: str
) -> tuple[Topology, Plugin | None, PluginChoice, list[str]]:
    if logical:
        from yantra.astra_sim.ns3 import read_ns3

        return read_ns3(at(path), at(logical))
    network = NETWORKS[backend]
    topology, warnings = read_network(at(path), network)
    return topology, None, network, warnings


def _check_options(queues: int, injection_scale: float, backend: str, scheduling: str) -> None:
    if queues < 1:
        raise ConfigError("num-queues-per-dim", f"must be at least 1; got {queues}")
    if not (math.isfinite(injection_scale) and injection_scale >= 0):
        raise ConfigError("injection-scale", f"must be at least 0; got {injection_scale}")
    for option, given in (("network-backend", backend), ("scheduling-keys", scheduling)):
        if given not in CHOICES[option]:
            raise ConfigError(option, expected_got(" or ".join(CHOICES[option]), given))


def _workload(
    at: Callable[[Path], str], workload: Path, groups: Path | None, ranks: int
) -> tuple[ChakraFiles, list[str]]:
    prefix = at(workload)
    if not paths.exists(f"{prefix}.0.et") and paths.isfile(prefix):
        _refuse_version_one(prefix)
    given = "empty" if groups is None else fspath(groups)
    if "empty" in given:
        problem = "contains 'empty', so no groups are read, as in ASTRA-sim; rename the file"
        told = [] if given == "empty" else [f"comm-group-configuration: {given}: {problem}"]
        return ChakraFiles(prefix=prefix), told
    members, warnings = read_groups(at(given), ranks, lambda: groups_named(prefix, ranks))
    return ChakraFiles(prefix=prefix, groups=members), warnings


def _refuse_version_one(workload: str) -> None:
    from yantra.astra_sim import version_one

    problem = version_one.workload(workload)
    if problem is not None:
        raise ConfigError(workload, problem)


def groups_named(prefix: str, ranks: int) -> set[str] | None:
    """Names of groups in all ranks' traces, None if one cannot be read."""
    from yantra.base.errors import TraceError
    from yantra.chakra import read

    names: set[str] = set()
    for rank in range(ranks):
        try:
            trace = read(f"{prefix}.{rank}.et")
        except TraceError:  # `compile` reports it
            return None
        names |= {name for node in trace if isinstance(name := node.get("pg_name"), str)}
    return names


def _unused_scales(**scales: float) -> list[str]:
    return [
        f"{name.replace('_', '-')}: has no effect in ASTRA-sim 2; got {scale}"
        for name, scale in scales.items()
        if scale != 1
    ]
