"""Graphs -> jobs of the core, with every problem of a node named before anything runs."""

from __future__ import annotations

from math import inf
from typing import Any

from yantra import _core
from yantra.compile.communicators import Communicators
from yantra.compile.graphs import Graphs
from yantra.compile.plans import Planner
from yantra.compile.removal import NOTHING, Without, free_classes
from yantra.compile.templates import TemplateGraphs
from yantra.errors import TraceError, UnsupportedError
from yantra.quirks import Quirk
from yantra.scenario import Scenario

_SHOWN = 5


def lower_jobs(
    native: _core.Model, options: Any, graphs: Graphs, communicators: Communicators
) -> None:
    """Lower every distinct graph and give each rank its job; `options` are from `lowering`."""
    options.communicators = communicators.by_name
    jobs = []
    for graph, source in zip(graphs.distinct, graphs.sources, strict=True):
        job, problems = _core.lower(graph, options)
        _refuse(problems, graph, source)
        jobs.append(job)
    native.set_jobs(jobs, graphs.by_rank)
    rank, problems = native.check_ranks()
    if problems:
        at = graphs.by_rank[rank]
        _refuse(problems, graphs.distinct[at], graphs.sources[at])


def lower_templates(
    native: _core.Model, options: Any, graphs: TemplateGraphs, assignment: _core.Assignment
) -> None:
    """Lower a template once for all ranks whose communicators occupy the same slots."""
    options.is_template = True
    slots = native.resources
    jobs = []
    for at, _, collective, send in assignment.roles:
        graph = graphs.distinct[at]
        options.resources = _with_slots(slots, collective, send)
        options.communicators = {"": 0} | {
            name: place for place, name in enumerate(graph.pg_names, start=1)
        }
        options.peers = {name: place for place, name in enumerate(graph.peer_names)}
        job, problems = _core.lower(graph, options)
        _refuse(problems, graph, graphs.sources[at])
        jobs.append(job)
    _core.set_roles(native, assignment, jobs)


def _with_slots(slots: Any, collective: list[int], send: list[int]) -> Any:
    """Return a resource map whose communicators are those that a template names."""
    own = _core.ResourceMap()
    own.capacity = slots.capacity
    own.cpu, own.compute, own.memory = slots.cpu, slots.compute, slots.memory
    own.collective, own.send = collective, send
    return own


def lowering(
    native: _core.Model,
    scenario: Scenario,
    quirks: frozenset[Quirk],
    planner: Planner,
    without: Without,
) -> Any:
    """Return how the nodes of a graph become operations, the names in it apart."""
    options = _core.LowerOptions()
    if Quirk.WHOLE_NANOSECONDS not in quirks:
        options.use_picoseconds()
    options.takes_no_time = free_classes(without)
    options.roofline = roofline_of(scenario, without)
    options.replay_only = scenario.replay_only
    options.cpu_slots_count = scenario.resources.cpu_slots is not None
    options.compute_slots_count = scenario.resources.compute_streams is not None
    options.resources = native.resources
    options.dimensions = len(scenario.topology.dimensions)
    options.remote_memory = scenario.memory.kind != "none"
    options.tracks_tensors = scenario.track_local_memory
    options.custom_by_node = planner.custom_by_node
    options.offered_kinds = planner.offered
    options.covered = planner.covered
    for (kind, dimension, last), reason in planner.impossible.items():
        options.set_impossible(kind, dimension, last, reason)
    options.missing_is_cpu_op_means_cpu = Quirk.TUTORIAL_HOTI2024 in quirks
    options.skipped_nodes_do_not_wake = Quirk.SKIPPED_NODES_DO_NOT_WAKE in quirks
    options.broadcast_is_a_timer = Quirk.BROADCAST_IS_A_TIMER in quirks
    options.zero_op_kernel_never_ends = Quirk.ZERO_OP_KERNEL_NEVER_ENDS in quirks
    options.zero_byte_kernel_is_skipped = Quirk.ZERO_BYTE_KERNEL_IS_SKIPPED in quirks
    options.no_duration_takes_a_nanosecond = Quirk.NO_DURATION_TAKES_A_NANOSECOND in quirks
    options.whole_microseconds = Quirk.WHOLE_MICROSECONDS in quirks
    return options


def roofline_of(scenario: Scenario, without: Without = NOTHING) -> Any:
    """Return the roofline of the scenario's devices, less what takes no time."""
    device = scenario.device
    roofline = _core.Roofline()
    roofline.enabled = device.compute == "roofline"
    roofline.peak_flops = inf if "peak" in without else device.peak_flops
    is_free = "memory_bandwidth" in without
    roofline.memory_bytes_per_s = inf if is_free else device.memory_bytes_per_s
    return roofline


def _refuse(problems: list[tuple[int, bool, str]], graph: Any, source: str) -> None:
    if not problems:
        return
    lines = [
        f"{source}: node {graph.id[node]} '{graph.name(node)}': {text}"
        for node, _, text in problems[:_SHOWN]
    ]
    if len(problems) > _SHOWN:
        lines.append(f"{source}: {len(problems) - _SHOWN} more problems")
    unsupported = all(flag for _, flag, _ in problems)
    raise (UnsupportedError if unsupported else TraceError)("\n".join(lines))
