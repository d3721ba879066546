"""Would `yantra astra-sim` and upstream's binary take the job?

A warning where only upstream refuses: its reader (Chakra feeder, version 3) files without nodes or
with dependencies on missing ones; its workload layer all but all-reduce, all-gather, reduce-scatter
and all-to-all, and broadcast with recorded durations.
"""

from __future__ import annotations

from itertools import pairwise

from yantra import _core
from yantra.base.whole_numbers import whole
from yantra.chakra.schema import NODE_TRAITS, CollectiveType, NodeType, lane_of
from yantra.tracing.inspect.columns import Columns, collective_name
from yantra.tracing.inspect.groups import WORLD, process_groups
from yantra.tracing.inspect.validate.facts import Whole
from yantra.tracing.inspect.validate.loaded import LoadedJob

_SECTION = "astra-sim"
_UNSUPPORTED = frozenset(
    {CollectiveType.REDUCE, CollectiveType.GATHER, CollectiveType.SCATTER, CollectiveType.BARRIER}
)
_UPSTREAM_REFUSES = frozenset({CollectiveType.REDUCE_SCATTER_BLOCK, CollectiveType.BROADCAST})
_OTHER_TYPE = _core.IntColumn.Kind.OTHER.value
_INVOLVED_OTHER = 255
_GROUP_OTHER = -2


def check_astra_sim(job: LoadedJob) -> None:
    """Check the files and groups of the job."""
    _files(job)
    _group_names(job)


def check_alone(rank: Whole) -> None:
    """Check the nodes of one rank."""
    _collectives(rank)
    _types(rank)
    _skipped(rank)
    _empty_messages(rank)
    _other_needs(rank)


def _files(job: LoadedJob) -> None:
    ranks = sorted(job.members)
    if len(ranks) > 1 and ranks != list(range(len(ranks))):
        gap = next((a + 1 for a, b in pairwise([-1, *ranks]) if b > a + 1), 0)
        text = f"there is no trace of rank {gap}; ASTRA-sim needs <prefix>.<rank>.et from 0 on"
        job.add_finding("error", "rank-missing", _SECTION, None, None, text)
    for rank, member in job.members.items():
        if member.path.endswith(".gz"):
            text = f"{member.path} is packed; ASTRA-sim looks for <prefix>.{rank}.et"
            job.add_finding("warning", "packed-for-astra-sim", _SECTION, rank, None, text)
        if not member.columns.count:
            text = "has no nodes; upstream's reader refuses the file"
            job.add_finding("warning", "upstream-refuses-file", _SECTION, rank, None, text)


def _group_names(job: LoadedJob) -> None:
    for name in job.groups:
        if len(name) > 9 or not whole(name):
            text = f"group {name!r} has no positive whole number for a name"
            job.add_finding("error", "group-name-not-a-number", _SECTION, None, None, text)


def _collectives(rank: Whole) -> None:
    columns = rank.columns
    for name, nodes in rank.calls.items():
        for node in nodes:
            what = columns.comm_type[node]
            if what in _UNSUPPORTED:
                text = f"{collective_name(what)} has no algorithm in ASTRA-sim"
                rank.add_finding("error", "unsupported-collective", _SECTION, node, text)
            elif what in _UPSTREAM_REFUSES:
                text = f"upstream ASTRA-sim runs no {collective_name(what)} by an algorithm"
                code = "upstream-refuses-collective"
                rank.add_finding("warning", code, _SECTION, node, text)
            mask, length = columns.involved(node)
            if length == _INVOLVED_OTHER:
                text = "attribute involved_dim is not a list of at most 64 booleans"
                rank.add_finding("error", "attribute-type", _SECTION, node, text)
            elif name == WORLD and length and not mask:
                text = "involved_dim selects no dimension, so the collective could never end"
                rank.add_finding("error", "involved-dim-empty", _SECTION, node, text)


def _types(rank: Whole) -> None:
    columns = rank.columns
    names = {name for traits in NODE_TRAITS.values() for name in traits.needs}
    kinds = {name: getattr(columns.graph, name).kind for name in names}
    wrong = {name for name, column in kinds.items() if _OTHER_TYPE in column}
    groups = columns.graph.pg_name
    if not wrong and _GROUP_OTHER not in groups:
        return
    for node, type in enumerate(columns.type):
        for name in NODE_TRAITS[NodeType(type)].needs if lane_of(type) else ():
            if name in wrong and kinds[name][node] == _OTHER_TYPE:
                text = f"attribute {name} is not an integer"
                rank.add_finding("error", "attribute-type", _SECTION, node, text)
        if groups[node] == _GROUP_OTHER and type in (
            NodeType.COMM_COLL,
            NodeType.COMM_SEND,
            NodeType.COMM_RECV,
        ):
            text = "attribute pg_name is not text"
            rank.add_finding("error", "attribute-type", _SECTION, node, text)


def _skipped(rank: Whole) -> None:
    columns = rank.columns
    if not {NodeType.INVALID, NodeType.METADATA} & set(columns.type):
        return
    for node, type in enumerate(columns.type):
        given = columns.native.inputs(columns.record[node])
        if type == NodeType.METADATA and not (given and process_groups(given[0])):
            text = "upstream ASTRA-sim aborts on a METADATA node that lists no process groups"
            code = "upstream-refuses-node"
            rank.add_finding("warning", code, _SECTION, node, text)
        if type in (NodeType.INVALID, NodeType.METADATA) and columns.children(node):
            text = (
                "is skipped by ASTRA-sim, which lets its children wait for the next completion "
                "on the rank"
            )
            code = "skipped-node-has-children"
            rank.add_finding("warning", code, _SECTION, node, text)


def _empty_messages(rank: Whole) -> None:
    columns = rank.columns
    for node in rank.order.sequence:
        if columns.type[node] == NodeType.COMM_SEND and columns.comm_size[node] == 0:
            text = "upstream ASTRA-sim aborts on a message of 0 bytes"
            code = "upstream-refuses-node"
            rank.add_finding("warning", code, _SECTION, node, text)


def _other_needs(rank: Whole) -> None:
    columns = rank.columns
    if any(lane_of(type) == "memory" for type in set(columns.type)):
        text = "loads or stores remote memory, which the cluster must have"
        rank.add_finding("warning", "needs-remote-memory", _SECTION, None, text)
    if NodeType.COMP in columns.type and not _is_timed(columns):
        text = "its computations have neither durations nor num_ops: they take no time"
        rank.add_finding("warning", "nothing-to-time", _SECTION, None, text)


def _is_timed(columns: Columns) -> bool:
    return any(columns.duration) or any(columns.integers("num_ops"))
