"""Causes of time that a model may be compiled without, each exactly.

Bytes over infinite bandwidth are 0 ps, so the rest stays exact and nothing overflows. What decides
without taking time (Themis's weights, orders, slots, which nodes exist) stays.

This is architecture research's limit study: idealise one resource, run again (Wall, "Limits of
instruction-level parallelism", ASPLOS 1991).
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Literal, get_args

from yantra import _core
from yantra.base.errors import ConfigError, hint
from yantra.scenario import Dimension, Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable

Cause = Literal[
    "bandwidth",
    "latency",
    "contention",
    "hand_overs",
    "reductions",
    "compute",
    "peak",
    "memory_bandwidth",
    "remote_memory",
    "host",
    "unexplained",
]
"""bandwidth: the bytes of messages. latency: their hops. contention: messages that wait for links
(else each carries all at once, as in the formula). hand_overs: endpoint delays, or the shared bus
with its charge for reductions. reductions: local ones of collectives, and computations of
collectives given by traces; of the bus its delay per 100 bytes. compute: all kernels. peak:
arithmetic under the roofline. memory_bandwidth: the device's, under the roofline and in reductions.
remote_memory: its latency and bytes. host: operations of the CPU.
unexplained: delays of recordings, which only a verdict removes.
"""

Without = frozenset[str]
"""Causes, and bandwidths of single dimensions (`bandwidth_of_dimension`)."""
NOTHING: Without = frozenset()
CAUSES: tuple[Cause, ...] = get_args(Cause)
_NODE_CLASSES = {
    _core.NodeClass.GPU: "compute",
    _core.NodeClass.CPU: "host",
    _core.NodeClass.COMMUNICATION: "communication",
    _core.NodeClass.MEMORY: "remote_memory",
    _core.NodeClass.UNEXPLAINED_DEVICE: "unexplained",
    _core.NodeClass.UNEXPLAINED_HOST: "unexplained",
}
"""Durations that a cause removes, or two together."""


def bandwidth_of_dimension(at: int) -> str:
    return f"bandwidth of dimension {at}"


def checked(causes: Iterable[str], dimensions: int) -> Without:
    chosen = frozenset(causes)
    known = {*CAUSES, *map(bandwidth_of_dimension, range(dimensions))}
    for cause in sorted(chosen - known):
        raise ConfigError("without", f"no cause is named '{cause}'{hint(cause, CAUSES)}")
    return chosen


def bandwidth_of(at: int, dimension: Dimension, without: Without) -> float:
    """Bytes per ns of dimension `at`; infinite if free."""
    is_free = not without.isdisjoint({"bandwidth", bandwidth_of_dimension(at)})
    return inf if is_free else dimension.bytes_per_ns


def latency_of(dimension: Dimension, without: Without) -> float:
    return 0.0 if "latency" in without else dimension.latency_ns


def reduction_rate(scenario: Scenario, without: Without) -> float:
    """Bytes per second of the core's reductions; 0: no time."""
    collectives = scenario.collectives
    charged_by_bus = collectives.shared_bus is not None and "hand_overs" in without
    if collectives.reductions == "overlapped" or charged_by_bus:
        return 0.0
    if not without.isdisjoint({"reductions", "memory_bandwidth"}):
        return 0.0
    return scenario.device.memory_bytes_per_s


def shared_rate(scenario: Scenario, without: Without) -> float:
    """Bytes per second that work on a rank's memory shares; 0: not shared."""
    device = scenario.device
    is_shared = device.share_bandwidth and "memory_bandwidth" not in without
    return device.memory_bytes_per_s if is_shared else 0.0


def memory_rate(scenario: Scenario, without: Without) -> float:
    """Bytes per second of a rank's memory; unlimited where none is known."""
    return ("memory_bandwidth" not in without and scenario.device.memory_bytes_per_s) or inf


def free_classes(without: Without) -> list[_core.NodeClass]:
    """Classes of nodes whose durations take no time."""
    named = {*without} | ({"communication"} if {"bandwidth", "latency"} <= without else set())
    return [node_class for node_class, name in _NODE_CLASSES.items() if name in named]
