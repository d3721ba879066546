"""A recorded job as nodes that may be changed, and what settings say.

Trade-off: a node is an object here, which suits steps of some 100,000 nodes a rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from yantra.base.errors import ConfigError, UnsupportedError, expected_got
from yantra.chakra import Metadata, Node, NodeType, Trace
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.groups import WORLD, Groups
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.inspect.stats.job import communicators
from yantra.tracing.inspect.stats.parallelism import find_parallelism
from yantra.tracing.rescale.asked import no_replicas

_MOST_RANKS = 1 << 16


class Replicas(NamedTuple):
    """The groups that sum gradients; `sharded`: of weights that they also gather."""

    names: list[str]
    groups: list[tuple[int, ...]]
    sharded: bool

    @property
    def degree(self) -> int:
        return len(self.groups[0])


class Recording:
    """`nodes`: each rank's, in file order; `groups`: members of communicators but the world's.
    `stands_for_all`: one rank was given, and every other runs the same.
    """

    def __init__(self, job: Sequence[RankTrace], groups: Groups | None) -> None:
        self.where = job[0].path
        self.stands_for_all = False
        job = self._all_ranks(job)
        by_rank = {rank: Columns(trace) for rank, _, trace in job}
        self.groups = communicators(by_rank, groups)
        self.nodes: dict[int, list[Node]] = {rank: list(trace) for rank, _, trace in job}
        self.metadata: dict[int, Metadata] = {rank: trace.metadata for rank, _, trace in job}
        self._findings = find_parallelism(by_rank, self.groups).findings

    def find_again(self) -> None:
        """Judge the changed job as the recorded one was."""
        by_rank = {rank: Columns(trace) for rank, trace in self.traces().items()}
        self._findings = find_parallelism(by_rank, self.groups).findings

    def _all_ranks(self, job: Sequence[RankTrace]) -> Sequence[RankTrace]:
        """Every rank of the job; one of a job with one kind of rank stands for all."""
        said = {name: value for name, _, value, _ in job[0].trace.native.metadata}
        world = said.get("world_size")
        count = max(world if isinstance(world, int) else 0, len(job))
        if [one.rank for one in job] == list(range(count)):
            return job
        columns = Columns(job[0].trace)
        names = set(columns.group)
        talks = {NodeType.COMM_SEND, NodeType.COMM_RECV} & set(columns.type)
        if len(job) > 1 or names - {WORLD} or talks or count > _MOST_RANKS:
            raise UnsupportedError(
                f"{self.where}: {len(job)} of {count} ranks are here, which talk in several groups "
                "or send messages, so what the others run is not determined; give every rank"
            )
        self.stands_for_all = True
        return [job[0]._replace(rank=rank) for rank in range(count)]

    @property
    def ranks(self) -> list[int]:
        return sorted(self.nodes)

    def _is_of_one_pipeline(self, names: list[str]) -> bool:
        """Whether these groups are of stages, which share weights: their ranks send each other."""
        chain = {rank: rank for rank in self.ranks}
        for rank in self.ranks:
            for node in self.nodes[rank]:
                peer = node.get("comm_dst") if node.type == NodeType.COMM_SEND else None
                if isinstance(peer, int) and peer in chain and chain[peer] != chain[rank]:
                    old, new = chain[peer], chain[rank]
                    chain = {one: new if at == old else at for one, at in chain.items()}
        groups = [self.groups[name] for name in names if name != WORLD]
        return bool(groups) and all(len({chain[r] for r in group}) == 1 for group in groups)

    def traces(self) -> dict[int, Trace]:
        """The changed traces, with the starts that their dependencies give."""
        return {rank: Trace(_timed(self.nodes[rank]), self.metadata[rank]) for rank in self.ranks}

    def replicas(self, setting: str) -> Replicas:
        """Raises UnsupportedError where no collectives, or several kinds, sum only gradients."""
        found = [
            one
            for one in self._findings
            if one.split.startswith("data") and not self._is_of_one_pipeline(one.groups)
        ]
        smaller = [one for one in found if one.degree != len(self.ranks)]
        found = smaller or found  # of all ranks beside these: norms, losses
        if len(found) != 1:
            raise UnsupportedError(f"{self.where}: {setting}: {no_replicas(self._findings, found)}")
        names = found[0].groups
        made = Replicas(names, self._groups_of(names), "sharded" in found[0].split)
        return self._whole(made, setting, "that sum gradients")

    def _groups_of(self, names: list[str]) -> list[tuple[int, ...]]:
        return list(dict.fromkeys(map(self.members, names)))  # several may have the same ranks

    def _whole(self, found: Replicas, setting: str, what: str) -> Replicas:
        if sorted(rank for group in found.groups for rank in group) != self.ranks:
            raise UnsupportedError(
                f"{self.where}: {setting}: the groups {what} do not hold every rank once"
            )
        return found

    def family(self, setting: str, split: str, what: str) -> Replicas:
        """The groups found to split so. Raises UnsupportedError if there are none or several."""
        found = [one for one in self._findings if one.split.startswith(split)]
        degrees = {one.degree for one in found}
        others = ", ".join(sorted({one.split for one in self._findings})) or "no communication"
        if len(degrees) != 1 or None in degrees:
            raise UnsupportedError(
                f"{self.where}: {setting}: {'several kinds' if found else 'no groups'} {what} are "
                f"recorded ({others}), so what another split would do is not determined"
            )
        names = [name for one in found for name in one.groups]
        return self._whole(Replicas(names, self._groups_of(names), False), setting, what)

    def members(self, name: str) -> tuple[int, ...]:
        return tuple(self.ranks) if name == WORLD else self.groups[name]

    def around(self, family: Replicas) -> list[tuple[int, ...]]:
        """The smallest groups that sum gradients and hold groups of the family whole."""
        found: dict[int, list[tuple[int, ...]]] = {}
        for name in self.sums_of_gradients(family.names):
            members = self.members(name)
            if any(set(one) <= set(members) for one in family.groups):
                found.setdefault(len(members), []).append(members)
        groups = found[min(found)] if found else family.groups
        if sorted(rank for group in groups for rank in group) != self.ranks:
            raise UnsupportedError(
                f"{self.where}: ep: the replicas that share experts are not determined"
            )
        return list(dict.fromkeys(groups))

    def regroup(self, copied: Mapping[str, list[str]]) -> None:
        """Add copied groups to the findings, and take out those that are gone."""
        made = []
        for one in self._findings:
            names = [name for old in one.groups for name in (old, *copied.get(old, ()))]
            names = [name for name in names if name in self.groups or name == WORLD]
            members = self._groups_of(names)
            degree = len(members[0]) if members else one.degree
            if names or not one.groups:
                made.append(one._replace(groups=names, degree=degree))
        self._findings = made

    def sums_of_gradients(self, others: list[str]) -> list[str]:
        """Groups, none of `others`, that sum gradients, for whatever setting."""
        found = [one for one in self._findings if one.split.startswith("data")]
        return [name for one in found for name in one.groups if name not in others]


def _timed(nodes: list[Node]) -> list[Node]:
    ends: dict[int, int] = {}  # ns
    for node in nodes:
        exact = node.get("duration_ns")
        took = exact if isinstance(exact, int) else node.duration_micros * 1000
        before = [ends[parent] for parent in (*node.data_deps, *node.ctrl_deps) if parent in ends]
        told = node.attribute("start_time_ns")
        known = told.value if told is not None and isinstance(told.value, int) else None
        start = max(before) if before else known or node.start_micros * 1000
        ends[node.id] = start + took
        node.start_micros = start // 1000
        if told is not None and known is not None:
            node.set("start_time_ns", start, told.kind)
    return nodes


def value(name: str, text: str, old: int) -> int:
    """A setting's whole number: NUMBER, or xFACTOR of the old one."""
    factor = text[1:] if text.startswith("x") else ""
    try:
        made = Fraction(factor) * old if factor else Fraction(int(text))
    except (ValueError, ZeroDivisionError):
        problem = expected_got("a whole number, or x and a factor such as x2 or x0.5", text)
        raise ConfigError(f"--set {name}", problem) from None
    if made.denominator != 1 or not 1 <= made < 1 << 31:
        raise ConfigError(f"--set {name}", expected_got("a whole number from 1 up", float(made)))
    return int(made)


def is_communication(node: Node) -> bool:
    return node.type in (NodeType.COMM_COLL, NodeType.COMM_SEND, NodeType.COMM_RECV)


def group_of(node: Node) -> str:
    name = str(node.get("pg_name") or WORLD)
    return WORLD if name in ("", WORLD) else name


def whole(node: Node, name: str) -> int:
    found = node.get(name)
    return found if isinstance(found, int) else 0
