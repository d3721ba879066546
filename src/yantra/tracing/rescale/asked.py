"""Whether one rank tells enough for another number of replicas: what `look` promises and `rescale`
refuses before other ranks are read.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from yantra.chakra import CollectiveType, NodeType
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.groups import WORLD, Groups, declared_groups
from yantra.tracing.inspect.stats.parallelism import ParallelFinding, find_parallelism

_SAME = (CollectiveType.ALL_REDUCE, CollectiveType.BROADCAST, CollectiveType.REDUCE,
         CollectiveType.BARRIER)  # fmt: skip


def why_not(columns: Columns, rank: int, members: Groups | None = None) -> str:
    """Why more replicas are not determined; "" if nothing that this rank tells is against them.
    `members`: of groups, beyond those that it declares.
    """
    groups = {one.name: one.ranks for one in declared_groups(columns)} | (members or {})
    groups.pop(WORLD, None)
    findings = find_parallelism({rank: columns}, groups).findings
    found = [one for one in findings if one.split.startswith("data")]
    if not found:
        return no_replicas(findings, found)
    names = {name for one in found for name in one.groups}
    said = {one.name: one.value for one in columns.trace.metadata.attributes}
    of_all = {name for name, ranks in groups.items() if len(ranks) == said.get("world_size")}
    sharded = any("sharded" in one.split for one in found)
    for at, type in enumerate(columns.type):
        if type == NodeType.COMM_COLL:
            group = columns.group[at] or WORLD
            kind = columns.comm_type[at]
            if not stays(kind, group, names, {WORLD, *of_all}, sharded):
                return depends(f"node {columns.id[at]} '{columns.name(at)}'")
    return ""


def stays(
    kind: int | None, group: str, names: Container[str], of_all: Container[str], sharded: bool
) -> bool:
    """Whether a collective's size at other numbers of replicas is known; `names`: their groups."""
    if group in names and sharded:
        return kind in (*_SAME, CollectiveType.ALL_GATHER, CollectiveType.REDUCE_SCATTER)
    return kind in _SAME or (group not in of_all and group not in names)


def depends(node: str) -> str:
    return (
        f"{node} moves data that depends on the number of its ranks, and the recording does not "
        "say how"
    )


def no_replicas(findings: Sequence[ParallelFinding], found: Sequence[ParallelFinding]) -> str:
    others = sorted({one.split for one in findings} - {one.split for one in found})
    many = "several families of groups sum" if found else "no group of ranks only sums"
    also = f"; it has {', '.join(others)}" if others else ""
    return f"{many} gradients late in the step, so data parallelism is not determined{also}"
