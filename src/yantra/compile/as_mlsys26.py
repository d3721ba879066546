"""How ASTRA-sim's branch of MLSys 2026 changes traces before a run.

Nodes `## process_group:init ##` only list groups; group k is numbered k + 1, as its streams. Under
the roofline, device kernels also move the tensors of nodes whose data they need.

Trade-off: groups hold for the whole run; upstream refuses a trace that names one before listing it.

Source: branch changhai/chakra_main_paper, 77e78a2 of 2026-03-11, observed on a build of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from yantra.base.documents import json_value
from yantra.base.errors import ConfigError, TraceError, UnsupportedError
from yantra.base.fields import kind_of
from yantra.chakra import NodeType, Trace, read
from yantra.scenario import Custom, Scenario, Traces
from yantra.scenario.check import check_members
from yantra.scenario.quirks import MLSYS26, Quirk
from yantra.scenario.types import ChakraFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.chakra import Node

_LISTS_GROUPS = "## process_group:init ##"


class Prepared(NamedTuple):
    """The scenario to run, and group ids by trace name."""

    scenario: Scenario
    names: dict[str, str]


def prepared(scenario: Scenario, quirks: frozenset[Quirk]) -> Prepared:
    """The same scenario unless a quirk of the branch applies.

    Raises UnsupportedError for what is not modelled of the branch.
    """
    if quirks.isdisjoint(MLSYS26):
        return Prepared(scenario, {})
    _refuse(scenario)
    if quirks.isdisjoint((Quirk.GROUPS_BY_NAME_OF_NODES, Quirk.KERNELS_READ_THEIR_INPUTS)):
        return Prepared(scenario, {})
    workload = scenario.workload
    ranks = range(scenario.topology.ranks)
    if isinstance(workload, ChakraFiles):
        traces: Sequence[Trace] = [read(workload.path(rank)) for rank in ranks]
    elif isinstance(workload, Traces):
        traces = workload.traces
    else:
        raise UnsupportedError("semantics astra-sim@mlsys26 runs traces; expand the workload first")
    nodes = [list(trace) for trace in traces]
    groups = dict(workload.groups)
    names: dict[str, str] = {}
    if Quirk.GROUPS_BY_NAME_OF_NODES in quirks:
        names = _take_groups(nodes, groups, scenario.topology.ranks)
    if Quirk.KERNELS_READ_THEIR_INPUTS in quirks and kind_of(scenario.device.compute) == "roofline":
        for of_rank in nodes:
            _add_inputs(of_rank)
    changed = Traces(
        traces=tuple(
            Trace(of_rank, trace.metadata) for of_rank, trace in zip(nodes, traces, strict=True)
        ),
        groups=tuple(sorted(groups.items())),
    )
    return Prepared(scenario.replace(workload=changed), names)


def _refuse(scenario: Scenario) -> None:
    where = "semantics astra-sim@mlsys26"
    if scenario.replay_only:
        raise UnsupportedError(f"{where}: not with replay_only, at which the branch aborts")
    collectives = scenario.collectives
    chosen = collectives.by_type().values()
    if collectives.custom_per_node or any(isinstance(one, Custom) for one in chosen):
        raise UnsupportedError(f"{where}: collectives given by traces are not modelled")


def _take_groups(
    nodes: list[list[Node]], groups: dict[int, tuple[int, ...]], ranks: int
) -> dict[str, str]:
    found: dict[int, tuple[int, ...]] = {}
    for rank, of_rank in enumerate(nodes):
        for node in of_rank:
            if node.name != _LISTS_GROUPS:
                continue
            node.type = NodeType.INVALID
            for group, members in _listed(node, rank, ranks).items():
                if found.setdefault(group, members) != members:
                    problem = f"group {group} has other ranks here than on a rank before"
                    raise TraceError(f"rank {rank}: {node.label}: {problem}")
    for group, members in found.items():
        if group + 1 in groups:
            raise ConfigError(
                "workload.groups",
                f"group {group + 1} of the file and group {group} of the traces "
                "have the same streams; give them other ids",
            )
        groups[group + 1] = members
    return {str(group): str(group + 1) for group in found}


def _listed(node: Node, rank: int, ranks: int) -> dict[int, tuple[int, ...]]:
    text = "" if node.inputs is None else node.inputs.values
    if not text:
        return {}
    where = f"rank {rank}: {node.label}"
    try:
        entries = json_value(text[2:-2])
        listed = {int(one["pg_name"]): list(one["ranks"]) for one in entries}
    except (ValueError, TypeError, LookupError, OverflowError):
        raise TraceError(f"{where}: its inputs are no list of process groups") from None
    return {
        group: check_members(members or list(range(ranks)), ranks, f"{where}: group {group}")
        for group, members in listed.items()
    }


def _add_inputs(nodes: list[Node]) -> None:
    sizes = {node.id: int(node.get("tensor_size", 0)) for node in nodes}  # type: ignore[arg-type]
    for node in nodes:
        own = sizes[node.id]
        if node.type == NodeType.COMP and own > 0 and not node.get("is_cpu_op", False):
            read = sum(sizes.get(parent, 0) for parent in node.data_deps)
            node.set("tensor_size", own + read)
