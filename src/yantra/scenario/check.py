"""What must hold for a scenario: the one place that says so.

Errors name a field as a scenario file does (`cluster.topology[1].size`), wherever the scenario came
from. What only the traces can say (which collectives occur, whether memory is accessed) and which
collective algorithms exist is found by `compile`.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, get_args

from yantra.errors import ConfigError, did_you_mean, expected_got, show
from yantra.scenario import types

if TYPE_CHECKING:
    from yantra.scenario.types import Collectives, Device, RemoteMemory, Resources, Scenario


def check(scenario: Scenario) -> None:
    """Raise ConfigError for the first wrong field."""
    _choice("semantics", scenario.semantics, types.Semantics)
    _choice("fold", scenario.fold, types.Fold)
    _choice("network", scenario.network, types.Network)
    for name in ("replay_only", "track_local_memory", "trace_nodes"):
        _flag(name, getattr(scenario, name))
    _text("local_memory_trace", scenario.local_memory_trace)
    _quirks(scenario.quirks)
    _topology(scenario)
    _device(scenario.device, scenario.semantics)
    _memory(scenario.memory, scenario.topology.ranks, scenario.semantics)
    _collectives(scenario.collectives, len(scenario.topology.dimensions), scenario.semantics)
    _resources(scenario.resources)
    _workload(scenario)


def _quirks(quirks: frozenset[str] | None) -> None:
    if quirks is not None:
        _instance("quirks", quirks, frozenset, "a frozenset of names")
        for quirk in quirks:
            _text("quirks", quirk)


def _topology(scenario: Scenario) -> None:
    _instance("cluster.topology", scenario.topology, types.Topology, "a Topology")
    dimensions = scenario.topology.dimensions
    _instance("cluster.topology", dimensions, tuple, "a tuple of dimensions")
    if not dimensions:
        raise ConfigError("cluster.topology", "expected at least one dimension, got none")
    for at, dimension in enumerate(dimensions):
        where = f"cluster.topology[{at}]"
        _instance(where, dimension, types.Dimension, "a Dimension")
        _whole(f"{where}.size", dimension.size, at_least=2)
        _linked(f"{where}.kind", dimension.kind, dimension.size)
        _real(f"{where}.bandwidth", dimension.bytes_per_ns, "GB/s", above_zero=True)
        _real(f"{where}.latency", dimension.latency_ns, "ns")


def _linked(where: str, kind: str, size: int) -> None:
    from yantra import topologies

    _text(where, kind)
    reason = topologies.find(kind, where).supports(size)
    if reason is not None:
        raise ConfigError(where, f"{kind} {reason}")


def _device(device: Device, semantics: str) -> None:
    where = "cluster.device"
    _instance(where, device, types.Device, "a Device")
    _choice(f"{where}.compute", device.compute, types.Compute)
    needed = semantics == "yantra" and device.compute == "roofline"
    _real(f"{where}.peak", device.peak_flops, "FLOP/s", above_zero=needed)
    _real(f"{where}.memory_bandwidth", device.memory_bytes_per_s, "B/s", above_zero=needed)


def _memory(memory: RemoteMemory, ranks: int, semantics: str) -> None:
    where = "cluster.memory"
    _instance(where, memory, types.RemoteMemory, "a RemoteMemory")
    _choice(f"{where}.kind", memory.kind, types.MemoryKind)
    needed = semantics == "yantra" and memory.kind != "none"
    _whole(f"{where}.latency", memory.latency_ns, at_least=0, unit=" ns")
    _real(f"{where}.bandwidth", memory.bytes_per_ns, "GB/s", above_zero=needed)
    per_node = memory.kind == "per_node"
    for name in ("ranks_per_node", "nodes"):
        _whole(f"{where}.{name}", getattr(memory, name), at_least=1 if per_node else 0)
        if not per_node and getattr(memory, name):
            raise ConfigError(f"{where}.{name}", f"only for kind per_node; got {memory.kind}")
    if per_node and memory.nodes * memory.ranks_per_node < ranks:
        room = f"{memory.nodes} nodes of {memory.ranks_per_node} ranks"
        raise ConfigError(f"{where}.nodes", f"{room} do not hold the {ranks} ranks of the cluster")


def _collectives(collectives: Collectives, dimensions: int, semantics: str) -> None:
    where = "collectives"
    _instance(where, collectives, types.Collectives, "a Collectives")
    for name, algorithms in collectives.by_type().items():
        _algorithms(f"{where}.{name}", algorithms, dimensions, semantics)
    for node, prefix in _pairs(f"{where}.custom_per_node", collectives.custom_per_node):
        _whole(f"{where}.custom_per_node", node)
        _text(f"{where}.custom_per_node.{node}", prefix)
    _choice(f"{where}.all_reduce_shape", collectives.all_reduce_shape, types.AllReduceShape)
    _choice(f"{where}.priority", collectives.priority, types.Priority)
    _choice(f"{where}.inter_dimension", collectives.inter_dimension, types.InterDimension)
    _choice(f"{where}.intra_dimension", collectives.intra_dimension, types.IntraDimension)
    for name in ("chunks", "active_chunks", "queues_per_dimension"):
        _whole(f"{where}.{name}", getattr(collectives, name), at_least=1)
    for name in ("endpoint_delay", "local_reduction_delay"):
        _whole(f"{where}.{name}", getattr(collectives, f"{name}_ns"), at_least=0, unit=" ns")
    _choice(f"{where}.reductions", collectives.reductions, types.Reductions)
    _flag(f"{where}.rendezvous", collectives.rendezvous)
    bus = collectives.shared_bus
    if bus is not None:
        _instance(f"{where}.shared_bus", bus, types.SharedBus, "a SharedBus")
        if collectives.reductions != "serial":
            raise ConfigError(
                f"{where}.reductions",
                f"only serial with shared_bus, which charges them itself; got "
                f"{collectives.reductions}",
            )
        for name in ("l", "o", "g"):
            _whole(f"{where}.shared_bus.{name}", getattr(bus, f"{name}_ns"), 0, " ns")
        _real(f"{where}.shared_bus.big_g", bus.big_g_ns_per_byte, "ns/B")


def _algorithms(where: str, algorithms: types.Algorithms, dimensions: int, semantics: str) -> None:
    if algorithms is None:
        return
    if isinstance(algorithms, types.Custom):
        _text(f"{where}.custom", algorithms.prefix)
        return
    _instance(where, algorithms, tuple, "a tuple of algorithm names, a Custom or None")
    for name in algorithms:
        _text(where, name)
    covers_all = any(name.startswith("one") for name in algorithms)
    exact = semantics == "yantra" and not covers_all
    if not algorithms or len(algorithms) > dimensions or (exact and len(algorithms) < dimensions):
        raise ConfigError(
            where, f"expected one algorithm per dimension ({dimensions}), got {show(algorithms)}"
        )


def _resources(resources: Resources) -> None:
    where = "resources"
    _instance(where, resources, types.Resources, "a Resources")
    _choice(f"{where}.communication", resources.communication, types.Communication)
    for name in ("cpu_slots", "compute_streams"):
        slots = getattr(resources, name)
        if slots is not None:
            _whole(f"{where}.{name}", slots, at_least=1)
    one_slot = resources.communication == "one_slot"
    _whole(f"{where}.copy_engines", resources.copy_engines, at_least=0 if one_slot else 1)
    if one_slot and resources.copy_engines:
        raise ConfigError(
            f"{where}.copy_engines",
            f"must be 0 with communication one_slot, where memory operations hold the slot; got "
            f"{resources.copy_engines}",
        )


def _workload(scenario: Scenario) -> None:
    workload, ranks = scenario.workload, scenario.topology.ranks
    if isinstance(workload, types.WorkloadFile):
        _text("workload.templates", workload.path)
        return
    if isinstance(workload, types.Templates):
        if workload.workload.ranks != ranks:
            problem = f"the workload has {workload.workload.ranks} ranks, the cluster {ranks}"
            raise ConfigError("workload", problem)
        return
    if isinstance(workload, types.ChakraFiles):
        _text("workload.traces", workload.prefix)
    else:
        expected = "a ChakraFiles, a Traces, a WorkloadFile or a Templates"
        _instance("workload", workload, types.Traces, expected)
        if len(workload.traces) != ranks:
            problem = f"expected one trace for each of the {ranks} ranks"
            raise ConfigError("workload.traces", f"{problem}, got {len(workload.traces)}")
    last = 0
    for group, members in _pairs("workload.groups", workload.groups):
        where = f"workload.groups.{group}"
        _whole("workload.groups", group, at_least=1)
        if group <= last:
            raise ConfigError(where, f"groups stand by ascending id; got it after {last}")
        check_members(members, ranks, where)
        last = group


def check_members(members: Any, ranks: int, where: str) -> tuple[int, ...]:
    """Return the ranks of one group, in order, if each exists and stands once."""
    if not isinstance(members, list | tuple) or not members:
        raise ConfigError(where, expected_got("a list of ranks", members))
    if set(map(type, members)) != {int}:
        wrong = next(member for member in members if type(member) is not int)
        raise ConfigError(where, expected_got("a rank (an integer)", wrong))
    for member in (min(members), max(members)):
        if not 0 <= member < ranks:
            raise ConfigError(where, f"expected ranks from 0 to {ranks - 1}, got {member}")
    if len(set(members)) < len(members):
        twice = next(member for member in members if members.count(member) > 1)
        raise ConfigError(where, f"rank {twice} stands more than once")
    return tuple(members)


def _pairs(where: str, pairs: Any) -> tuple[tuple[Any, Any], ...]:
    _instance(where, pairs, tuple, "a tuple of pairs")
    for pair in pairs:
        _instance(where, pair, tuple, "a pair")
        if len(pair) != 2:
            raise ConfigError(where, expected_got("a pair", pair))
    checked: tuple[tuple[Any, Any], ...] = pairs
    return checked


def _choice(where: str, value: object, names: Any) -> None:
    known = get_args(names)
    if value not in known:
        hint = did_you_mean(value, known) if isinstance(value, str) else ""
        raise ConfigError(where, expected_got(f"one of {', '.join(known)}", value) + hint)


def _whole(where: str, value: object, at_least: int | None = None, unit: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(where, expected_got("a whole number", value))
    if at_least is not None and value < at_least:
        raise ConfigError(where, f"must be at least {at_least}{unit}; got {value}{unit}")


def _real(where: str, value: object, unit: str, above_zero: bool = False) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ConfigError(where, expected_got("a finite number", value))
    if value < 0 or (above_zero and value == 0):
        bound = "above" if above_zero else "at least"
        raise ConfigError(where, f"must be {bound} 0 {unit}; got {value:g} {unit}")


def _flag(where: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ConfigError(where, expected_got("true or false", value))


def _text(where: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise ConfigError(where, expected_got("a text", value))


def _instance(where: str, value: object, kind: type, expected: str) -> None:
    if not isinstance(value, kind):
        raise ConfigError(where, expected_got(expected, value))
