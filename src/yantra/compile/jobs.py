"""From graphs to the core's jobs; names every faulty node before a run."""

from __future__ import annotations

from yantra import _core
from yantra.base.at_once import in_order
from yantra.compile.as_astra_sim import INVOLVED_BY_DEFAULT
from yantra.compile.communicators import Communicators
from yantra.compile.graphs import Graphs, arriving_at
from yantra.compile.kernels import KernelTimes
from yantra.compile.plans import Planner
from yantra.compile.problems import refuse
from yantra.compile.removal import Without, free_classes
from yantra.compile.schedule import StartOrder
from yantra.compile.slowdown import slowdown_of
from yantra.compile.templates import TemplateGraphs
from yantra.scenario import Scenario
from yantra.scenario.quirks import Quirk

_WORTH_A_THREAD = 2000
"""Least nodes of a graph to lower in a thread."""


def lower_jobs(
    builder: _core.ModelBuilder,
    options: _core.LowerOptions,
    graphs: Graphs,
    communicators: Communicators,
    kernels: KernelTimes,
    order: StartOrder,
) -> None:
    options.name_groups(communicators.by_name)
    kernels.tell(options, 0)
    distinct, sources = graphs.distinct, graphs.sources
    small = [] if graphs.device_of else _core.lower_small(distinct, options, _WORTH_A_THREAD)
    jobs = [order.of(job, graph) for job, graph in zip(small, distinct, strict=False)]

    def lower(at: int) -> _core.Lowered:
        if graphs.device_of:
            kernels.tell(options, graphs.device_of[at])
        return _core.lower(distinct[at], options)

    # Settings of devices hold for all calls, so several are serial.
    others = range(len(jobs), len(distinct))
    all_lowered = in_order(
        lower,
        others,
        lambda at: not graphs.device_of and len(distinct[at]) > _WORTH_A_THREAD,
        _core.Stop(),
    )
    for at, lowered in zip(others, all_lowered, strict=True):
        refuse(lowered.problems, distinct[at], sources[at])
        jobs.append(order.of(lowered.job, distinct[at]))
    builder.set_jobs(jobs, graphs.column())
    found = builder.check_ranks()
    if found is not None:
        at = graphs.by_rank[found.rank]
        refuse(found.problems, graphs.distinct[at], graphs.sources[at])


Arriving = dict[str, tuple[list[int], list[_core.Job]]]
"""Jobs that may arrive, by name: ranks and what each runs."""


def lower_arriving(
    builder: _core.ModelBuilder,
    options: _core.LowerOptions,
    graphs: Graphs,
    kernels: KernelTimes,
    order: StartOrder,
) -> Arriving:
    arriving: Arriving = {}
    for name, job in graphs.arriving.items():
        ranks, jobs = [], []
        for rank, graph in job:
            source = arriving_at(name, rank)
            if graphs.device_of_rank:
                kernels.tell(options, graphs.device_of_rank[rank])
            lowered = _core.lower(graph, options)
            refuse(lowered.problems, graph, source)
            refuse(builder.check_job(lowered.job, rank), graph, source)
            ranks.append(rank)
            jobs.append(order.of(lowered.job, graph))
        arriving[name] = (ranks, jobs)
    return arriving


def lower_templates(
    builder: _core.ModelBuilder,
    options: _core.LowerOptions,
    graphs: TemplateGraphs,
    assignment: _core.Assignment,
    kernels: KernelTimes,
    order: StartOrder,
) -> None:
    slots = builder.slots
    jobs = []
    kernels.tell(options, 0)
    for role in assignment.roles:
        graph = graphs.distinct[role.in_template]
        if graphs.device_of:
            kernels.tell(options, graphs.device_of[role.in_template])
        options.resources = _with_slots(slots, role)
        options.name_in_template(graph.pg_names, graph.peer_names)
        lowered = _core.lower(graph, options)
        refuse(lowered.problems, graph, graphs.sources[role.in_template])
        jobs.append(order.of(lowered.job, graph))
    builder.set_role_jobs(assignment, jobs)


def _with_slots(slots: _core.ResourceMap, role: _core.Role) -> _core.ResourceMap:
    return _core.ResourceMap(
        capacity=slots.capacity,
        cpu=slots.cpu,
        compute=slots.compute,
        memory=slots.memory,
        collective=role.collective,
        send=role.send,
    )


def lowering(
    scale: _core.TimeScale,
    builder: _core.ModelBuilder,
    scenario: Scenario,
    quirks: frozenset[Quirk],
    planner: Planner,
    without: Without,
) -> _core.LowerOptions:
    options = _core.LowerOptions(scale)
    for node_class in free_classes(without):
        options.takes_no_time(node_class)
    options.replay_only = scenario.replay_only
    options.cpu_slots_count = scenario.resources.cpu_slots is not None
    options.compute_slots_count = scenario.resources.compute_streams is not None
    options.resources = builder.slots
    options.dimensions = len(scenario.topology.dimensions)
    options.tracks_tensors = scenario.track_local_memory
    taken = slowdown_of(scenario).taken  # from kernels that memory does not bound
    options.kernels_share_bandwidth = scenario.device.share_bandwidth or taken > 0.0
    options.set_custom_by_node(planner.custom_by_node)
    for kind in planner.offered:
        options.offer(kind, sorted(planner.covered.get(kind, ())))
    for kind in planner.by_traces:
        options.give_by_traces(kind)
    for (kind, dimension, is_last), reason in planner.impossible.items():
        options.set_impossible(kind, dimension, is_last, reason)
    options.missing_is_cpu_op_means_cpu = Quirk.TUTORIAL_HOTI2024 in quirks
    options.skipped_nodes_do_not_wake = Quirk.SKIPPED_NODES_DO_NOT_WAKE in quirks
    options.broadcast_is_a_timer = Quirk.BROADCAST_IS_A_TIMER in quirks
    options.zero_op_kernel_never_ends = Quirk.ZERO_OP_KERNEL_NEVER_ENDS in quirks
    options.zero_byte_kernel_is_skipped = Quirk.ZERO_BYTE_KERNEL_IS_SKIPPED in quirks
    options.no_duration_takes_a_nanosecond = Quirk.NO_DURATION_TAKES_A_NANOSECOND in quirks
    options.named_by_system_file = scenario.semantics != "yantra"
    if Quirk.FOUR_DIMENSIONS in quirks:
        options.involved_by_default = (1 << INVOLVED_BY_DEFAULT) - 1
    options.kernels_may_communicate = scenario.semantics == "yantra"
    options.whole_microseconds = Quirk.WHOLE_MICROSECONDS in quirks
    return options
