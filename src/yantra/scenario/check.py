"""What must hold for a scenario, beyond single fields, which `layout.py` checks.

Errors name fields as files do (`cluster.topology[1].size`), wherever the scenario is from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra import compute as computes
from yantra import memory as memories
from yantra import network as networks
from yantra.base.errors import ConfigError, expected_got, show
from yantra.base.fields import kind_of, named
from yantra.base.plugin_files import split_path
from yantra.scenario import types
from yantra.scenario.fields import check_ranks
from yantra.scenario.layout import DEVICE, IN_CLUSTER, IN_SCENARIO, MEMORY
from yantra.schedulers import class_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.base.fields import Section
    from yantra.base.plugin_files import Named
    from yantra.base.records import Record
    from yantra.scenario.types import Collectives, Device, RemoteMemory, Resources, Scenario


def check(scenario: Scenario) -> None:
    IN_SCENARIO.check_fields(scenario, "")
    IN_CLUSTER.check_fields(scenario, "cluster")
    is_alone = scenario.topology.ranks == 1 and len(scenario.topology.dimensions) == 1
    for at, dimension in enumerate(scenario.topology.dimensions):
        _linked(f"cluster.topology[{at}]", dimension, is_alone)
    _device(scenario.device, scenario.semantics, "cluster.device")
    _devices(scenario)
    _shared_bandwidth(scenario)
    _interference(scenario)
    _counts(scenario)
    _protocol(scenario)
    _memory(scenario.memory, scenario.topology.ranks, scenario.semantics)
    _collectives(scenario.collectives, len(scenario.topology.dimensions), scenario.semantics)
    _resources(scenario.resources)
    _scheduler(scenario)
    _stack(scenario)
    _caps(scenario)
    _host(scenario)
    _workload(scenario)
    _fabric(scenario)


def _fabric(scenario: Scenario) -> None:
    _failures(scenario)
    if scenario.fabric is None:
        for name in ("routing", "placement", "link_changes", "reroute_delay_ns"):
            if getattr(scenario, name) != getattr(types.Scenario, name):
                key = name.removesuffix("_ns")
                raise ConfigError(f"cluster.{key}", "only with fabric, and there is none")
        return
    if scenario.reroute_delay_ns and scenario.link_changes is None and not scenario.failures:
        problem = "only with link_changes or failures, and there are none"
        raise ConfigError("cluster.reroute_delay", problem)
    level = networks.level_of(scenario.network)
    if scenario.semantics != "yantra" and not level.has("needs_fabric"):
        problem = f"only with semantics yantra, or the network packet; got {scenario.semantics}"
        raise ConfigError("cluster.fabric", problem)
    ranks, listed = scenario.topology.ranks, scenario.placement.devices
    if scenario.placement.kind == "list" and len(listed) != ranks:
        problem = f"expected a device for each of the {ranks} ranks, got {len(listed)}"
        raise ConfigError("cluster.placement", problem)


def _own_semantics(where: str, semantics: str) -> None:
    if semantics != "yantra":
        raise ConfigError(where, f"only with semantics yantra; got {semantics}")


def _failures(scenario: Scenario) -> None:
    if scenario.tier_networks:
        _own_semantics("tier_networks", scenario.semantics)
    if scenario.background:
        _own_semantics("background", scenario.semantics)
    if scenario.failures:
        _own_semantics("cluster.failures", scenario.semantics)
    for at, failure in enumerate(scenario.failures):
        if failure.ranks is None and scenario.fabric is None:
            problem = (
                "needs cluster.fabric, which has the switches and links; without it only ranks "
                "can fail"
            )
            raise ConfigError(f"cluster.failures[{at}]", problem)


_LONE = ("switch", "ring", "fully_connected")  # what the core has a formula for, also with one rank


def _stack(scenario: Scenario) -> None:
    if scenario.stack is None:
        return
    _own_semantics("stack", scenario.semantics)
    if any(named(device.compute) == "recorded" for device in scenario.all_devices()):
        problem = "not with recorded durations, which already include what the framework costs"
        raise ConfigError("stack", problem)
    if scenario.stack.interval and not any(
        named(device.compute) == "measured" for device in scenario.all_devices()
    ):
        name, compute = scenario.stack.name or "its interval", named(scenario.device.compute)
        problem = (
            f"{name}: was fitted to measured kernels; expected a named cluster, or "
            f"cluster.device.compute: measured; got {compute}"
        )
        raise ConfigError("stack", problem)


def _caps(scenario: Scenario) -> None:
    for device in scenario.all_devices():
        if device.power_cap_w is None:
            continue
        from yantra.scenario.power import law_of

        law_of(scenario.machine, device)
        if scenario.replay_only or named(device.compute) == "recorded":
            problem = "not with recorded durations, whose kernels ran without it"
            raise ConfigError("cluster.device.power_cap", problem)
        _own_semantics("cluster.device.power_cap", scenario.semantics)


def _host(scenario: Scenario) -> None:
    if scenario.host is None:
        return
    _own_semantics("host", scenario.semantics)
    if scenario.replay_only:
        raise ConfigError("host", "not with replay_only: the recording already includes launches")
    if scenario.host.launch_ns is None and not (scenario.stack and scenario.stack.launch_ns):
        problem = "expected how long a launch takes, such as 9 us"
        raise ConfigError("host.launch", f"{problem}; `yantra microbench` measures it")


def _linked(where: str, dimension: types.Dimension, is_alone: bool) -> None:
    from yantra.fabric.topologies import find, topologies

    if dimension.size == 1:
        if is_alone and dimension.kind in _LONE:
            return
        raise ConfigError(f"{where}.size", "must be at least 2; got 1")
    reason = find(dimension.kind, f"{where}.kind").supports(dimension.size)
    if reason is not None:
        raise ConfigError(f"{where}.kind", f"{topologies.shown(dimension.kind)} {reason}")


def _devices(scenario: Scenario) -> None:
    ranks = scenario.topology.ranks
    whose: dict[int, int] = {}
    for at, part in enumerate(scenario.devices):
        where = f"cluster.devices[{at}]"
        _device(part.device, scenario.semantics, f"{where}.device")
        check_ranks(part.ranks[-1:], ranks, f"{where}.ranks")
        for rank in part.ranks:
            if whose.setdefault(rank, at) != at:
                problem = f"rank {rank} has a device already, cluster.devices[{whose[rank]}]"
                raise ConfigError(f"{where}.ranks", problem)


def _device(device: Device, semantics: str, where: str) -> None:
    if semantics == "yantra" and device.compute != types.Device.compute:
        model = computes.models.get(kind_of(device.compute), f"{where}.compute")
        for key in ("peak", "memory_bandwidth"):
            if key in model.needs:
                _not_zero(DEVICE, device, where, key)


def _counts(scenario: Scenario) -> None:
    given = scenario.collectives.counts
    if given is None:
        return
    from yantra.collectives.counts import exponent_of, load

    where = "collectives.counts"
    _own_semantics(where, scenario.semantics)
    if bool(given.file) == bool(given.routing):
        raise ConfigError(where, "expected a file or a routing, and not both")
    if given.file:
        load(given.file)  # finds mistakes even if no collective needs it
    if given.routing:
        exponent_of(given.routing, f"{where}.routing")
        if not given.experts:
            raise ConfigError(f"{where}.experts", "missing; expected how many experts there are")


def _protocol(scenario: Scenario) -> None:
    if scenario.collectives.protocol is None:
        return
    where = "collectives.protocol"
    _own_semantics(where, scenario.semantics)
    if scenario.collectives.shared_bus is not None:
        raise ConfigError(where, "not with shared_bus, which has its own hand-over times")


def _interference(scenario: Scenario) -> None:
    given = scenario.collectives.interference
    if given is None:
        return
    from yantra.scenario.interference import all_to_all_sms

    where = "collectives.interference"
    _own_semantics(where, scenario.semantics)
    together = given.sms + (all_to_all_sms(scenario.collectives) or 0)  # both may run at once
    if together >= given.of:
        problem = f"expected fewer than the {given.of} units that the device has, got {together}"
        raise ConfigError(f"{where}.sms", problem)
    if not scenario.device.share_bandwidth:
        problem = "only where kernels share the memory; set cluster.device.share_bandwidth: true"
        raise ConfigError(where, problem)
    if given.memory_bytes_per_s >= scenario.device.memory_bytes_per_s:
        raise ConfigError(
            f"{where}.memory_bandwidth", "expected less than cluster.device.memory_bandwidth"
        )


def _shared_bandwidth(scenario: Scenario) -> None:
    if not any(device.share_bandwidth for device in scenario.all_devices()):
        return
    where = "cluster.device.share_bandwidth"
    _own_semantics(where, scenario.semantics)
    if scenario.devices:
        raise ConfigError(where, "only where all ranks have one device; leave cluster.devices out")
    if scenario.collectives.shared_bus is not None:
        raise ConfigError(where, "not with collectives.shared_bus, which charges reductions itself")
    memory = memories.models.get(kind_of(scenario.memory.kind), "cluster.memory.kind")
    if memory.sharing != "rank":
        problem = f"copies of {named(scenario.memory.kind)} wait for those of other ranks"
        raise ConfigError(where, f"only where each rank has a memory of its own; {problem}")
    _not_zero(DEVICE, scenario.device, "cluster.device", "memory_bandwidth")


def _memory(memory: RemoteMemory, ranks: int, semantics: str) -> None:
    where = "cluster.memory"
    model = memories.models.get(kind_of(memory.kind), f"{where}.kind")
    if semantics == "yantra" and model.needs_bandwidth:
        _not_zero(MEMORY, memory, where, "bandwidth")
    per_node = model.sharing == "node"
    for name in ("ranks_per_node", "nodes"):
        number = getattr(memory, name)
        if per_node and not number:
            raise ConfigError(f"{where}.{name}", "must be at least 1; got 0")
        if number and not per_node:
            sharing = f"the sharing of {named(memory.kind)} is per {model.sharing}"
            raise ConfigError(f"{where}.{name}", f"only where nodes share a memory; {sharing}")
    if per_node and memory.nodes * memory.ranks_per_node < ranks:
        room = f"{memory.nodes} nodes of {memory.ranks_per_node} ranks"
        raise ConfigError(f"{where}.nodes", f"{room} do not hold the {ranks} ranks of the cluster")


def _not_zero(section: Section, record: Record, where: str, key: str) -> None:
    name, field, _ = section.entries[key]
    if not getattr(record, name):
        unit = field.unit
        raise ConfigError(f"{where}.{key}", f"must be above 0 {unit}; got 0 {unit}")


def _collectives(collectives: Collectives, dimensions: int, semantics: str) -> None:
    for name in types.COLLECTIVE_TYPES:
        algorithms = getattr(collectives, name)
        if isinstance(algorithms, tuple):
            _covered(f"collectives.{name}", algorithms, dimensions, semantics)
    if collectives.selection is not None:
        _own_semantics("collectives.selection", semantics)
    if collectives.shared_bus is not None and collectives.reductions != "serial":
        raise ConfigError(
            "collectives.reductions",
            f"only serial with shared_bus, which charges them itself; got {collectives.reductions}",
        )


def _covered(where: str, names: tuple[Named, ...], dimensions: int, semantics: str) -> None:
    covers_all = any(_covers_all_ranks(name) for name in names)
    exact = semantics == "yantra" and not covers_all
    if not names or len(names) > dimensions or (exact and len(names) < dimensions):
        problem = f"expected one algorithm per dimension ({dimensions}), got {show(names)}"
        raise ConfigError(where, problem)


def _covers_all_ranks(name: Named) -> bool:
    return isinstance(name, str) and name.startswith("one") and split_path(name) is None


def _resources(resources: Resources) -> None:
    where, engines = "resources.copy_engines", resources.copy_engines
    if resources.communication != "one_slot":
        if not engines:
            raise ConfigError(where, "must be at least 1; got 0")
    elif engines:
        raise ConfigError(
            where,
            "must be 0 with communication one_slot, where memory operations hold the slot; got "
            f"{engines}",
        )


def _scheduler(scenario: Scenario) -> None:
    scheduler, priority = class_of(scenario.scheduler), scenario.collectives.priority
    if scenario.semantics != "yantra" and not scheduler.native:
        raise ConfigError(
            "scheduler",
            "only in_order with semantics astra-sim, where ready nodes start in the order of their "
            f"ids; got {named(scenario.scheduler)}",
        )
    if scheduler.orders_collectives and priority != types.Collectives.priority:
        raise ConfigError(
            "collectives.priority",
            f"expected none, as the scheduler {named(scenario.scheduler)} says which collective "
            f"goes first; got {priority}",
        )


def _workload(scenario: Scenario) -> None:
    workload, ranks = scenario.workload, scenario.topology.ranks
    if isinstance(workload, types.WorkloadFile):
        return
    if isinstance(workload, types.TrainingStep):
        from yantra.scenario.training import ranks_of

        needed = ranks_of(workload)
        if needed != ranks:
            raise ConfigError("workload.plan", f"has {needed} ranks, the cluster {ranks}")
        return
    if isinstance(workload, types.Templates):
        if workload.workload.ranks != ranks:
            problem = f"the workload has {workload.workload.ranks} ranks, the cluster {ranks}"
            raise ConfigError("workload", problem)
        return
    if isinstance(workload, types.Traces) and len(workload.traces) != ranks:
        problem = f"expected one trace for each of the {ranks} ranks, got {len(workload.traces)}"
        raise ConfigError("workload.traces", problem)
    if not are_groups([members for _, members in workload.groups], ranks):
        for group, members in workload.groups:
            check_members(members, ranks, f"workload.groups.{group}")


_MEMBERS = (list, tuple)
_INTEGERS = {int}


def are_groups(groups: Sequence[Any], ranks: int) -> bool:
    """Return whether `check_members` would take each group, in a third of its time."""
    if not {*map(type, groups)}.issubset(_MEMBERS) or not all(groups):
        return False
    listed = [member for group in groups for member in group]
    if {*map(type, listed)} != _INTEGERS:
        return not groups
    is_once = sum(map(len, map(set, groups))) == len(listed)
    return is_once and min(listed) >= 0 and max(listed) < ranks


def check_members(members: Any, ranks: int, where: str) -> tuple[int, ...]:
    """Return a group's ranks in order, checked to exist once."""
    if not isinstance(members, _MEMBERS) or not members:
        raise ConfigError(where, expected_got("a list of ranks", members))
    if set(map(type, members)) != _INTEGERS:
        wrong = next(member for member in members if type(member) is not int)
        raise ConfigError(where, expected_got("a rank (an integer)", wrong))
    lowest, highest = min(members), max(members)
    if lowest < 0 or highest >= ranks:
        wrong = lowest if lowest < 0 else highest
        raise ConfigError(where, f"expected ranks from 0 to {ranks - 1}, got {wrong}")
    if len(set(members)) < len(members):
        twice = next(member for member in members if members.count(member) > 1)
        raise ConfigError(where, f"rank {twice} is listed more than once")
    return tuple(members)
