"""What a model may be compiled without: causes of time, each removed exactly.

A removed cause takes no time at all. It is not made very fast: bytes over an infinite bandwidth are
zero picoseconds, so what is left stays exact and nothing can overflow. What decides and takes no
time itself (the weights of Themis, orders, slots, which nodes exist) stays as it was. The scenario
stays the one that was asked, so the result of such a model knows what was removed from
`Model.without` alone.

The idea is the limit study of architecture research: make one resource ideal and run again (Wall,
"Limits of instruction-level parallelism", ASPLOS 1991).
"""

from __future__ import annotations

from math import inf

from yantra import _core
from yantra.base.errors import ConfigError, hint
from yantra.base.light import Literal, get_args
from yantra.scenario import Dimension, Scenario

TYPE_CHECKING = False
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
]
"""bandwidth: the bytes of messages. latency: their hops. contention: messages that wait for links
(each carries all at once, as the formula has it). hand_overs: endpoint delays, or the shared bus
with what it charges for reductions. reductions: local reductions of collectives, and computations
of collectives given by traces; of the bus its delay per 100 bytes. compute: all kernels. peak:
arithmetic under the roofline. memory_bandwidth: bytes of the device's memory, under the roofline
and in reductions. remote_memory: its latency and bytes. host: operations of the CPU."""

Without = frozenset[str]
"""Causes, and bandwidths of single dimensions (`bandwidth_of_dimension`)."""
NOTHING: Without = frozenset()
CAUSES: tuple[Cause, ...] = get_args(Cause)
_NODE_CLASSES = {
    "compute": _core.NodeClass.GPU,
    "host": _core.NodeClass.CPU,
    "communication": _core.NodeClass.COMMUNICATION,
    "remote_memory": _core.NodeClass.MEMORY,
}
"""Which durations of the core's nodes a cause removes, or two causes together."""


def bandwidth_of_dimension(at: int) -> str:
    """Return the name of a cause: the bytes of messages on the links of one dimension, or label."""
    return f"bandwidth of dimension {at}"


def checked(causes: Iterable[str], dimensions: int) -> Without:
    """Return the causes as a set; raise ConfigError for one that is not known.

    Beside CAUSES the bandwidth of each of `dimensions` is one.
    """
    chosen = frozenset(causes)
    known = {*CAUSES, *map(bandwidth_of_dimension, range(dimensions))}
    for cause in sorted(chosen - known):
        raise ConfigError("without", f"no cause is named '{cause}'{hint(cause, CAUSES)}")
    return chosen


def bandwidth_of(at: int, dimension: Dimension, without: Without) -> float:
    """Return the bytes per ns of the links of dimension `at`; infinite if bytes take no time."""
    is_free = not without.isdisjoint({"bandwidth", bandwidth_of_dimension(at)})
    return inf if is_free else dimension.bytes_per_ns


def latency_of(dimension: Dimension, without: Without) -> float:
    """Return the latency of a hop in ns."""
    return 0.0 if "latency" in without else dimension.latency_ns


def reduction_rate(scenario: Scenario, without: Without) -> float:
    """Return the bytes per second at which the core reduces; 0 where that takes no time."""
    collectives = scenario.collectives
    charged_by_bus = collectives.shared_bus is not None and "hand_overs" in without
    if collectives.reductions == "overlapped" or charged_by_bus:
        return 0.0
    if not without.isdisjoint({"reductions", "memory_bandwidth"}):
        return 0.0
    return scenario.device.memory_bytes_per_s


def shared_rate(scenario: Scenario, without: Without) -> float:
    """Return the bytes per second that work on a rank's memory shares; 0: nothing is shared."""
    device = scenario.device
    is_shared = device.share_bandwidth and "memory_bandwidth" not in without
    return device.memory_bytes_per_s if is_shared else 0.0


def free_classes(without: Without) -> list[_core.NodeClass]:
    """Return the classes of nodes whose own durations take no time.

    Nodes of communication have one where all nodes replay what was recorded; it is not known which
    part of it were hops and which bytes, so only both go.
    """
    named = {*without} | ({"communication"} if {"bandwidth", "latency"} <= without else set())
    return [node_class for name, node_class in _NODE_CLASSES.items() if name in named]
