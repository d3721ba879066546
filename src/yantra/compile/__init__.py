"""Compiles a Scenario into a Model; finds every mistake, its place and remedy.

Equal traces are decoded and lowered once.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from yantra import _core
from yantra.base.callable_module import make_callable
from yantra.base.errors import UnsupportedError
from yantra.compile.as_astra_sim import spelled, told
from yantra.compile.communicators import Communicators
from yantra.compile.graphs import Graphs, load_graphs
from yantra.compile.jobs import (
    Arriving,
    lower_arriving,
    lower_jobs,
    lower_templates,
    lowering,
)
from yantra.compile.kernels import Asked, KernelTimes, TimedKernels, asks_a_model
from yantra.compile.limits import check_limits, check_sizes
from yantra.compile.memory import set_memory, tell_accesses
from yantra.compile.network import add_dimensions, needs_fabric, set_network
from yantra.compile.plans import Planned, Planner
from yantra.compile.removal import (
    NOTHING,
    Without,
    checked,
    memory_rate,
    reduction_rate,
    shared_rate,
)
from yantra.compile.schedule import StartOrder, collective_order
from yantra.compile.slowdown import slowdown_of
from yantra.compile.templates import TemplateGraphs
from yantra.compile.what_fails import NO_FAILURES, Failures
from yantra.network import Level, level_of
from yantra.scenario import Scenario
from yantra.scenario.quirks import MLSYS26, OF_SEMANTICS, Quirk, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from yantra.chakra import Trace
    from yantra.compile.fabric import OnFabric
    from yantra.fabric.graphs.graph import Graph
    from yantra.network.traffic.generator import Flows

_GROUP_HAND_OVER_NS = 10
_RUN_QUIRKS = {
    "padded_chunks": Quirk.PADDED_CHUNKS,
    "half_queues": Quirk.HALF_QUEUES,
    "send_completes_on_arrival": Quirk.SEND_COMPLETES_ON_ARRIVAL,
    "lowest_dimension_only": Quirk.LOWEST_DIMENSION_ONLY,
    "links_carry_anything": Quirk.LINKS_CARRY_ANYTHING,
    "sizes_of_32_bits": Quirk.SIZES_OF_32_BITS,
    "hash_order_custom": Quirk.HASH_ORDER_CUSTOM,
    "phases_as_ready": Quirk.PHASES_AS_READY,
    "no_duration_takes_a_nanosecond": Quirk.NO_DURATION_TAKES_A_NANOSECOND,
    "whole_microseconds": Quirk.WHOLE_MICROSECONDS,
    "collectives_start_together": Quirk.COLLECTIVES_START_TOGETHER,
    "mismatched_collectives_meet": Quirk.MISMATCHED_COLLECTIVES_MEET,
    "bus_charges_reduction_twice": Quirk.BUS_CHARGES_REDUCTION_TWICE,
}


class Disturbances(NamedTuple):
    """What disturbs a run."""

    failures: Failures
    """Of links and ranks, as stated and drawn."""
    drawn_ns: float | None
    """Until when failures are drawn; None if none are."""
    background: Flows | None
    """Traffic of others."""
    changed_at_ns: tuple[float, ...]
    """When links change their rate."""


class Model:
    """A compiled scenario."""

    def __init__(
        self,
        scenario: Scenario,
        quirks: frozenset[Quirk],
        graphs: Graphs,
        native: _core.Model,
        work: _core.Work,
        without: Without,
        arrivals: Arriving,
        kernels: tuple[TimedKernels, ...],
        planned: Planned,
        disturbances: Disturbances,
        graph: Graph | None,
    ) -> None:
        self.scenario = scenario
        """The scenario compiled."""
        self.without = without
        """What takes no time."""
        self.quirks = quirks
        """ASTRA-sim's quirks that are on."""
        self.graphs = graphs
        """Graphs of all ranks."""
        self.native = native
        """The core's model."""
        self.work = work
        """Estimated work of all ranks."""
        self.arrivals = arrivals
        """Jobs that may arrive during the run, by name (`yantra.run.live`)."""
        self.kernels = kernels
        """By device not computed by the core: distinct kernels with low, middle and high estimates.
        """
        self.rests_on = planned.rests_on
        """What measured collectives rest on, in words."""
        self.charged = planned.charged
        """Whether some collectives of known time put bytes on links."""
        self.uncharged = planned.uncharged
        """Whether some collectives of known time put none."""
        self.chosen = planned.chosen
        """What runs each kind of collective."""
        self.has_switches = planned.has_switches
        """Whether fabric switches take part in a collective."""
        self.failures = disturbances.failures
        """What fails, and when."""
        self.changed_at_ns = disturbances.changed_at_ns
        """When links change as a file states, in ns."""
        self.background = disturbances.background
        """Flows of nobody's job, or None."""
        self.drawn_ns = disturbances.drawn_ns
        """Until when failures by rate were drawn, in ns; None: as long as was chosen."""
        self.graph = graph
        """The fabric messages cross, with device names; None: the topology's dimensions."""
        self.lacks_memory = _lack_of_memory(scenario, graphs)
        """Ranks that exceed their device's memory; empty if none is known to."""
        lack = [f"workload: {self.lacks_memory}"] if self.lacks_memory else []
        self.warnings = [*graphs.warnings, *lack]
        """What to know of the inputs."""
        self.ticks_per_ns = 1 if Quirk.WHOLE_NANOSECONDS in quirks else 1000
        """Resolution of native results."""

    @cached_property
    def level(self) -> Level:
        """The network's level. `without` contention another runs."""
        return level_of(self.scenario.network)

    @property
    def groups(self) -> Sequence[tuple[int, tuple[int, ...]]]:
        """Ids and ranks, ascending."""
        return self.graphs.groups

    @property
    def ranks(self) -> int:
        """Ranks of the cluster."""
        return self.scenario.topology.ranks

    @property
    def fabric(self) -> _core.FabricGraph | None:
        """The graph messages cross; None: the topology's dimensions."""
        return self.native.fabric

    @property
    def keeps_links(self) -> bool:
        """Whether the use of every link, or of ranks' links, is kept."""
        return self.follows_links or self.has_ports

    @property
    def follows_links(self) -> bool:
        """Whether a message counts on every link it crosses, at recorded times."""
        return "contention" not in self.without and self.level.has("has_links")

    @property
    def has_ports(self) -> bool:
        """Whether messages take turns on ranks' links only."""
        takes_turns = Quirk.LINKS_CARRY_ANYTHING not in self.quirks
        return "contention" not in self.without and takes_turns and self.level.has("has_ports")


def _lack_of_memory(scenario: Scenario, graphs: Graphs) -> str:
    if not isinstance(graphs, TemplateGraphs):
        return ""
    from yantra.workloads.templates.room import lack_of_memory

    return lack_of_memory(graphs.workload, *scenario.machine.room)


def quirks_of(scenario: Scenario) -> frozenset[Quirk]:
    """Quirks of the scenario, else of its semantics."""
    if scenario.quirks is not None:
        return parse(scenario.quirks, "quirks")
    return OF_SEMANTICS[scenario.semantics]


def _launches(scenario: Scenario) -> _core.Launches | None:
    if scenario.host is None:
        return None
    from yantra.compile.launches import launches_of

    return launches_of(scenario)


def compile(
    scenario: Scenario,
    arrivals: Mapping[str, Mapping[int, Trace]] | None = None,
    tuned: Scenario | None = None,
) -> Model:
    """Compile a scenario, and jobs that may arrive, by name: a trace per rank.

    `tuned`: the scenario with other rates, whose choices and chunks of collectives are used.

    Raises ConfigError or TraceError for mistakes, UnsupportedError for what no model here covers.
    """
    quirks = quirks_of(scenario)
    if scenario.machine.rates:
        from yantra.compile.rates import rated

        scenario = rated(scenario)
    selection = scenario.collectives.selection
    if selection is not None:
        scenario = _for_model(scenario)
        tuned = None if tuned is None else _for_model(tuned)
    names: dict[str, str] = {}
    if not quirks.isdisjoint(MLSYS26):
        from yantra.compile.as_mlsys26 import prepared

        scenario, names = prepared(scenario, quirks)
    graphs = load_graphs(
        scenario.workload,
        scenario.topology.ranks,
        quirks,
        tensors=scenario.track_local_memory,
        kernels=asks_a_model(scenario),
        one_slot=scenario.resources.communication == "one_slot",
        launches=_launches(scenario),
    )
    graphs.spellings = names
    graphs.warnings += told(scenario, quirks, graphs)
    if any(graph.complete_order for graph in graphs.distinct):
        from yantra.compile.recorded import tell

        graphs.warnings += tell(scenario, graphs)
        if scenario.semantics == "yantra":
            _begin_as_recorded(scenario, graphs)
    graphs.by_device(scenario.devices)
    if arrivals is not None:
        if isinstance(graphs, TemplateGraphs):
            raise UnsupportedError(
                "workload: jobs can arrive only where the workload is given by traces, one for "
                "each rank; expand the workload file first (yantra workload expand)"
            )
        graphs.add_arriving(arrivals, scenario.topology.ranks, quirks)
    if scenario.machine.dtype:
        from yantra.compile.rates import other_type

        graphs.warnings += other_type(scenario, graphs)
    return _compile(scenario, quirks, graphs, NOTHING, tuned=tuned)


def _begin_as_recorded(scenario: Scenario, graphs: Graphs) -> None:
    from yantra.compile.begins import begins_of

    begins = begins_of(scenario, graphs)
    if begins is not None:
        graphs.begins_ns = begins.ns
        graphs.warnings += [begins.said] if begins.said else []


def _for_model(scenario: Scenario) -> Scenario:
    # They must know the experts of the workload's model.
    from yantra.collectives.selection.of_model import leaves_to_model, of_model
    from yantra.scenario.training import stated_experts

    collectives, given = scenario.collectives, scenario.collectives.selection
    if given is None or not leaves_to_model(given):
        return scenario
    chosen = of_model(given, stated_experts(scenario.workload))
    return scenario.replace(collectives=collectives.replace(selection=chosen))


def compile_without(model: Model, causes: Iterable[str]) -> Model:
    """The model without some causes, from the same traces.

    `causes`: of `yantra.compile.removal.Cause`, or `bandwidth_of_dimension`. Raises ConfigError for
    others.
    """
    dimensions = len(model.scenario.topology.dimensions)
    if model.fabric is not None:
        dimensions = max(dimensions, len(model.fabric.labels))
    without = checked(causes, dimensions)
    known = Asked(model.kernels, model.without)
    return _compile(
        model.scenario, model.quirks, model.graphs, without, model.drawn_ns, known=known
    )


def compile_like(model: Model, scenario: Scenario) -> Model:
    """The model with a scenario's other rates, failures and background."""
    known = Asked(model.kernels, model.without)
    return _compile(
        scenario, model.quirks, model.graphs, model.without, model.drawn_ns, known=known
    )


def compile_until(model: Model, until_ns: float) -> Model:
    """The model with failures by rate drawn at least until a time.

    Earlier draws stay.
    """
    return _compile(model.scenario, model.quirks, model.graphs, model.without, until_ns)


def _clock(quirks: frozenset[Quirk]) -> _core.TimeScale:
    if Quirk.WHOLE_NANOSECONDS in quirks:
        return _core.TimeScale.truncated_nanoseconds()
    return _core.TimeScale.picoseconds()


def _compile(
    scenario: Scenario, quirks: frozenset[Quirk], graphs: Graphs, without: Without,
    drawn_ns: float | None = None, tuned: Scenario | None = None, known: Asked | None = None,
) -> Model:  # fmt: skip
    scale = _clock(quirks)
    check_limits(scenario, scale.ticks_per_ns)
    builder = _core.ModelBuilder(scale)
    on_fabric = _set_cluster(builder, scenario, quirks, without, scale.ticks_per_ns)
    failures = _failures(builder, scenario, on_fabric, scale.ticks_per_ns, drawn_ns)
    background = _background(builder, scenario, on_fabric, without, scale.ticks_per_ns)
    if scenario.tier_networks and "contention" not in without:
        from yantra.compile.tiers import set_tiers

        set_tiers(builder, scenario, on_fabric, failures)
    sizes = [dimension.size for dimension in scenario.topology.dimensions]
    by_node = scenario.semantics == "yantra" and Quirk.GROUP_RING not in quirks
    communicators = Communicators(builder, scenario.topology.ranks, sizes, by_node=by_node)
    planner = Planner(
        builder, scenario, quirks, communicators, scale.ticks_per_ns, without, on_fabric, tuned
    )
    kernels = KernelTimes(scenario, graphs, quirks, without, scale, known)
    if isinstance(graphs, TemplateGraphs):
        communicators.add_families(graphs.workload.families(), len(graphs.groups))
        communicators.set_slots(scenario.resources)
        assignment = graphs.assign(builder)
        planner.plan(planner.kinds_of_templates(assignment))
        options = lowering(scale, builder, scenario, quirks, planner, without)
        tell_accesses(options, scenario, graphs, scale)
        order = StartOrder(scenario, builder, scale.ticks_per_ns)
        lower_templates(builder, options, graphs, assignment, kernels, order)
        arriving: Arriving = {}
    else:
        communicators.add_groups(graphs.groups)
        communicators.take_spellings(_spellings(scenario, graphs, communicators))
        communicators.set_slots(scenario.resources)
        planner.plan(planner.kinds_of_graphs(graphs))
        options = lowering(scale, builder, scenario, quirks, planner, without)
        tell_accesses(options, scenario, graphs, scale)
        order = StartOrder(scenario, builder, scale.ticks_per_ns)
        lower_jobs(builder, options, graphs, communicators, kernels, order)
        arriving = lower_arriving(builder, options, graphs, kernels, order)
    if scenario.semantics != "yantra" and communicators.tags_may_collide():
        builder.match_by_tag()
    if Quirk.PHASES_AS_READY in quirks:
        builder.share_queue_sets()
    if any(graphs.begins_ns):
        builder.set_begins([ns * scale.ticks_per_ns for ns in graphs.begins_ns])
    native = builder.build()
    work = check_sizes(native, graphs)
    graphs.warnings += planner.warnings
    changed_at_ns = () if on_fabric is None else on_fabric.changed_at_ns
    disturbances = Disturbances(failures, drawn_ns, background, changed_at_ns)
    return Model(
        scenario, quirks, graphs, native, work, without, arriving, kernels.timed,
        planner.planned, disturbances, None if on_fabric is None else on_fabric.graph,
    )  # fmt: skip


def _spellings(scenario: Scenario, graphs: Graphs, groups: Communicators) -> dict[str, str]:
    if scenario.semantics == "yantra" or not graphs.groups:
        return graphs.spellings
    return spelled(graphs.with_arriving(), groups.by_name) | graphs.spellings


def _set_cluster(
    builder: _core.ModelBuilder,
    scenario: Scenario,
    quirks: frozenset[Quirk],
    without: Without,
    ticks_per_ns: int,
) -> OnFabric | None:
    flags = _core.Quirks()
    for name, quirk in _RUN_QUIRKS.items():
        setattr(flags, name, quirk in quirks)
    if "contention" in without:
        flags.links_carry_anything = True
    builder.set_quirks(flags)
    slower = slowdown_of(scenario).communication
    add_dimensions(builder, scenario.topology, without, slower)
    on_fabric = None
    if scenario.fabric is not None or needs_fabric(scenario):
        from yantra.compile.fabric import set_fabric

        on_fabric = set_fabric(builder, scenario, without, slower)
    graph = None if on_fabric is None else on_fabric.as_run
    set_network(builder, scenario, without, ticks_per_ns, graph)
    set_memory(builder, scenario, without)
    builder.set_system(_system(scenario, ticks_per_ns, without))
    return on_fabric


def _background(
    builder: _core.ModelBuilder,
    scenario: Scenario,
    on_fabric: OnFabric | None,
    without: Without,
    ticks_per_ns: int,
) -> Flows | None:
    if not scenario.background or "contention" in without:
        return None  # without contention others slow nobody
    from yantra.compile.background import set_background

    return set_background(builder, scenario, on_fabric, ticks_per_ns)


def _failures(
    builder: _core.ModelBuilder,
    scenario: Scenario,
    on_fabric: OnFabric | None,
    ticks_per_ns: int,
    drawn_ns: float | None,
) -> Failures:
    if not scenario.failures and scenario.link_changes is None:
        return NO_FAILURES
    from yantra.compile.failures import failures_of, set_failures

    failures = failures_of(scenario, on_fabric, drawn_ns)
    slower = slowdown_of(scenario).communication
    set_failures(builder, scenario, on_fabric, failures, ticks_per_ns, slower)
    return failures


def _system(scenario: Scenario, ticks_per_ns: int, without: Without) -> _core.SystemParameters:
    collectives = scenario.collectives
    system = _core.SystemParameters()
    system.priority = _core.Priority[collective_order(scenario).upper()]
    system.inter_dimension = _core.InterDimension[collectives.inter_dimension.upper()]
    system.intra_dimension = _core.IntraDimension[collectives.intra_dimension.upper()]
    system.local_bw_aware = collectives.all_reduce_shape == "local_bw_aware"
    system.chunks = collectives.chunks or 1
    system.active_chunks = collectives.active_chunks
    system.queues_per_dimension = collectives.queues_per_dimension
    hand_over_ticks = 0 if "hand_overs" in without else ticks_per_ns
    system.endpoint_delay = collectives.endpoint_delay_ns * hand_over_ticks
    system.group_hand_over = _GROUP_HAND_OVER_NS * hand_over_ticks
    no_reductions = "reductions" in without
    reduction_ticks = 0 if no_reductions else ticks_per_ns
    system.local_reduction_delay = collectives.local_reduction_delay_ns * reduction_ticks
    system.memory_bytes_per_s = reduction_rate(scenario, without)
    system.shared_bytes_per_s = shared_rate(scenario, without)
    taken = collectives.interference
    if taken is not None:
        from yantra.scenario.interference import all_to_all_sms

        system.units_of_collectives = taken.sms / taken.of
        own = all_to_all_sms(collectives)
        if own is not None:
            system.units_of_all_to_alls = own / taken.of
        system.bytes_per_s_of_collectives = taken.memory_bytes_per_s
    elif by_stack := slowdown_of(scenario).taken:
        system.units_of_collectives = by_stack
        if not scenario.device.share_bandwidth:
            system.takes_units_alone = True
            system.shared_bytes_per_s = memory_rate(scenario, without)
    system.custom_work_takes_no_time = no_reductions
    system.rendezvous = collectives.rendezvous
    bus = collectives.shared_bus
    if bus is not None and "hand_overs" not in without:
        system.bus = _core.SharedBus(
            latency=bus.l_ns * ticks_per_ns,
            overhead=bus.o_ns * ticks_per_ns,
            gap=bus.g_ns * ticks_per_ns,
            gap_per_byte=bus.big_g_ns_per_byte * ticks_per_ns,
        )
    return system


make_callable(__name__)
