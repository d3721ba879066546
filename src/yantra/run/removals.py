"""What can be removed from a run: a name, what then takes no time, and words.

Competing causes do not contain each other, except all links together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from yantra import _core
from yantra.compile import Model, quirks_of
from yantra.compile.kernels import has_roofs
from yantra.compile.removal import bandwidth_of_dimension
from yantra.network import level_of
from yantra.scenario import Custom, Scenario
from yantra.scenario.quirks import Quirk


class Removal(NamedTuple):
    """Causes one row removes; `text` completes "with ...", `applies` says where."""

    name: str
    causes: tuple[str, ...]
    text: str
    applies: Callable[[Scenario], bool]


class Cause(NamedTuple):
    """A removal that may bound a run: kind and name in the first line.

    `holds_others`: contains all others of its kind.
    """

    kind: str
    label: str
    removal: Removal
    holds_others: bool = False


def _always(scenario: Scenario) -> bool:
    return True


def _takes_turns(scenario: Scenario) -> bool:
    # Messages wait for links, and a network without that exists.
    level = level_of(scenario.network)
    has_ports = level.has("has_ports") and Quirk.LINKS_CARRY_ANYTHING not in quirks_of(scenario)
    return scenario.fabric is None and (level.has("has_links") or has_ports)


def _has_roofline(scenario: Scenario) -> bool:
    return any(map(has_roofs, scenario.all_devices())) and not scenario.replay_only


def _is_custom(scenario: Scenario) -> bool:
    collectives = scenario.collectives
    custom = any(isinstance(chosen, Custom) for chosen in collectives.by_type().values())
    return custom or bool(collectives.custom_per_node)


def _reduces_in_memory(scenario: Scenario) -> bool:
    collectives = scenario.collectives
    serial = collectives.shared_bus is None and collectives.reductions == "serial"
    return serial and scenario.device.memory_bytes_per_s > 0


def _has_reductions(scenario: Scenario) -> bool:
    bus = scenario.collectives.shared_bus
    return _is_custom(scenario) or bus is not None or _reduces_in_memory(scenario)


def _has_remote_memory(scenario: Scenario) -> bool:
    return scenario.memory.kind != "none"


BANDWIDTH = Removal("bandwidth", ("bandwidth",), "infinite bandwidth of all links", _always)
LATENCY = Removal("latency", ("latency",), "no latency of links", _always)
REDUCTIONS = Removal("reductions", ("reductions",), "no local reductions", _has_reductions)
COMPUTE = Removal("compute", ("compute",), "kernels that take no time", _always)
PEAK = Removal("peak", ("peak",), "infinite peak performance", _has_roofline)
MEMORY_BANDWIDTH = Removal(
    "memory_bandwidth", ("memory_bandwidth",), "infinite bandwidth of memory", _has_roofline
)
REMOTE_MEMORY = Removal(
    "remote_memory", ("remote_memory",), "free remote memory", _has_remote_memory
)
HOST = Removal("host", ("host",), "host work that takes no time", _always)
UNEXPLAINED = Removal(
    "unexplained", ("unexplained",), "all that the recording does not explain gone", _always
)
DELAYS = Removal(
    "delays", ("latency", "hand_overs"), "no latency and no delays at endpoints", _always
)

COMMUNICATION = Removal(
    "communication",
    ("bandwidth", "latency", "hand_overs", "reductions"),
    "communication that takes no time",
    _always,
)

REMOVALS = (
    BANDWIDTH,
    LATENCY,
    Removal("network", ("bandwidth", "latency"), "an infinite network", _always),
    Removal("contention", ("contention",), "links that carry all messages at once", _takes_turns),
    Removal("hand_overs", ("hand_overs",), "no delays at endpoints", _always),
    DELAYS,
    REDUCTIONS,
    COMMUNICATION,
    COMPUTE,
    PEAK,
    MEMORY_BANDWIDTH,
    REMOTE_MEMORY,
    HOST,
)


def communicates(model: Model) -> bool:
    return any(_core.node_kinds(graph).communication for graph in model.graphs.distinct)


def bandwidth_removals(model: Model) -> tuple[Removal, ...]:
    """One dimension or label alone is all links."""
    if model.fabric is not None:
        names = [f"links {label}" for label in model.fabric.labels]
    else:
        names = [f"dimension {at}" for at in range(len(model.scenario.topology.dimensions))]
    if len(names) == 1:
        return (BANDWIDTH,)
    return tuple(
        Removal(
            f"bandwidth_{at}",
            (bandwidth_of_dimension(at),),
            f"infinite bandwidth of {name}",
            _always,
        )
        for at, name in enumerate(names)
    )


def causes_of(model: Model, dimensions: list[str]) -> list[Cause]:
    """A model's removable causes, none within another.

    Kernels are two under the roofline, arithmetic and memory bandwidth; otherwise, or where some
    have recorded durations, one. Local reductions count as memory, except of collectives given by
    traces.
    """
    scenario = model.scenario
    of_graphs = [_core.node_kinds(graph) for graph in model.graphs.distinct]
    has_kernels = any(kinds.kernels for kinds in of_graphs)
    causes = []
    no_operations = any(kinds.other_kernels for kinds in of_graphs)
    if has_kernels and (no_operations or not _has_roofline(scenario)):
        causes.append(Cause("compute", "compute", COMPUTE))
    elif has_kernels:
        causes.append(Cause("compute", "the rate of arithmetic", PEAK))
        causes.append(Cause("memory_bandwidth", "memory bandwidth", MEMORY_BANDWIDTH))
    if any(kinds.communication for kinds in of_graphs):
        removals = bandwidth_removals(model)
        for label, removal in zip(dimensions, removals, strict=True):
            causes.append(Cause("network", f"the network, bandwidth of {label}", removal))
        if len(removals) > 1:
            of_all = "the network, bandwidth of all links"
            causes.append(Cause("network", of_all, BANDWIDTH, holds_others=True))
        causes.append(Cause("latency", "latency and hand-overs of messages", DELAYS))
        in_memory = MEMORY_BANDWIDTH in (cause.removal for cause in causes)
        if _is_custom(scenario) or (_reduces_in_memory(scenario) and not in_memory):
            causes.append(Cause("reductions", "local reductions", REDUCTIONS))
    if any(kinds.memory for kinds in of_graphs):
        causes.append(Cause("memory", "remote memory", REMOTE_MEMORY))
    if any(kinds.host for kinds in of_graphs):
        causes.append(Cause("host", "host work", HOST))
    if any(kinds.unexplained for kinds in of_graphs):
        causes.append(Cause("unexplained", "time that the recording does not explain", UNEXPLAINED))
    return causes
