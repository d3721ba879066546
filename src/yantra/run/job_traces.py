"""A job's traces as ranks of a shared cluster.

Rank i becomes `ranks[i]`, groups get new ids, "all ranks" a group unless the whole cluster in
order. Jobs share no rank, so tags stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from yantra.base.errors import CapacityError, ConfigError, TraceError
from yantra.chakra import Trace
from yantra.chakra.schema import Kind, Node, NodeType
from yantra.chakra.trace import read
from yantra.scenario.check import check_members
from yantra.scenario.jobs import Job
from yantra.scenario.training import templates_of
from yantra.scenario.types import ChakraFiles, Groups, Machine, Traces, Workload
from yantra.workloads.templates.room import lack_of_memory

_PEERS = ("comm_src", "comm_dst")


class Placed(NamedTuple):
    """A job's traces by cluster rank, and its groups."""

    traces: dict[int, Trace]
    groups: Groups


def place(job: Job, ranks: int, first_group: int, machine: Machine | None = None) -> Placed:
    """Place a job, its groups numbered from `first_group`.

    Raises TraceError, and CapacityError where devices of `machine` are too small.
    """
    try:
        own = _groups_of(job.workload, len(job.ranks))
    except ConfigError as error:
        raise ConfigError(f"{job.name}: {error.where}", error.problem) from None
    if machine is not None and not isinstance(job.workload, ChakraFiles | Traces):
        lack = lack_of_memory(templates_of(job.workload), *machine.room)
        if lack:
            raise CapacityError(job.name, f"{lack}, or run it all the same with --ignore-memory")
    numbers = {group: first_group + 1 + at for at, (group, _) in enumerate(own)}
    is_whole = job.ranks == tuple(range(ranks))
    world = 0 if is_whole else first_group
    groups = [] if is_whole else [(world, job.ranks)]
    groups += [
        (numbers[group], tuple([job.ranks[member] for member in members])) for group, members in own
    ]
    names = _Names(job, world, numbers, is_whole)
    known: dict[Trace, Trace] = {}
    traces = {}
    for rank, trace in enumerate(_traces_of(job)):
        if trace not in known:
            nodes = [names.renamed(node, rank) for node in trace]
            known[trace] = Trace(nodes, trace.metadata)
        traces[job.ranks[rank]] = known[trace]
    return Placed(traces, tuple(groups))


class _Names(NamedTuple):
    job: Job
    world: int
    groups: dict[int, int]
    is_whole: bool

    def renamed(self, node: Node, rank: int) -> Node:
        if node.type == NodeType.COMM_COLL:
            self._group(node, rank)
        elif node.type in (NodeType.COMM_SEND, NodeType.COMM_RECV):
            for key in _PEERS:
                peer = node.get(key)
                if isinstance(peer, int) and 0 <= peer < len(self.job.ranks):
                    node.set(key, self.job.ranks[peer], Kind.INT32)
                elif peer is not None:
                    problem = f"{key}: expected a rank from 0 to {len(self.job.ranks) - 1}"
                    raise TraceError(f"{self._where(node, rank)}: {problem}, got {peer!r}")
        return node

    def _group(self, node: Node, rank: int) -> None:
        value = node.get("pg_name")
        name = value if isinstance(value, str) and value else "0"
        try:
            number = int(name)
        except ValueError:
            number = -1
        if number and number not in self.groups:
            known = ", ".join(map(str, (0, *self.groups)))
            problem = f"pg_name: no group {name!r}; the job has {known}"
            raise TraceError(f"{self._where(node, rank)}: {problem}")
        involved = node.get("involved_dim")
        is_part = isinstance(involved, tuple) and not all(involved)
        if is_part and not number and not self.is_whole:
            raise TraceError(
                f"{self._where(node, rank)}: involved_dim: leaves out a dimension of the job's own "
                "cluster, which another cluster does not have; name the ranks as a group"
            )
        if self.world or number:
            node.set("pg_name", str(self.groups[number] if number else self.world), Kind.STRING)

    def _where(self, node: Node, rank: int) -> str:
        return f"{self.job.name}: trace of rank {rank}: {node.label}"


def _groups_of(workload: Workload, ranks: int) -> Groups:
    if isinstance(workload, ChakraFiles | Traces):
        for group, members in workload.groups:
            check_members(members, ranks, f"workload.groups.{group}")
        return workload.groups
    templates = templates_of(workload)
    if templates.ranks != ranks:
        problem = f"{templates.name} has {templates.ranks} ranks, its place on the cluster {ranks}"
        raise ConfigError("workload", problem)
    return tuple(templates.communicators().items())


def _traces_of(job: Job) -> Iterator[Trace]:
    workload = job.workload
    if isinstance(workload, Traces):
        yield from workload.traces
    elif isinstance(workload, ChakraFiles):
        for rank in range(len(job.ranks)):
            yield read(workload.path(rank))
    else:
        templates = templates_of(workload)
        for rank in range(len(job.ranks)):
            yield templates.trace(rank)
