"""More or fewer data-parallel replicas: ranks are copied or left out, groups made again.

A new replica runs what its kind of rank ran. Sums of gradients move the same buffer whatever the
number of replicas; shards of weights become smaller as there are more.

Source: Li et al., PyTorch Distributed (VLDB 2020); Rajbhandari et al., ZeRO (SC 2020).
"""

from __future__ import annotations

import ast
import json
from itertools import pairwise
from typing import NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.chakra import CollectiveType, Metadata, Node, NodeType
from yantra.chakra.schema import Attribute
from yantra.tracing.inspect.groups import WORLD, Groups, process_groups
from yantra.tracing.rescale.asked import depends, stays
from yantra.tracing.rescale.recording import Recording, Replicas, group_of, whole
from yantra.tracing.rescale.repeat import without_stretch


class _Seat(NamedTuple):
    copy: int
    rank: int  # of the recording


def with_replicas(job: Recording, degree: int) -> None:
    """Change the recording to `degree` replicas.

    Raises UnsupportedError where other groups would be torn.
    """
    with_members(job, job.replicas("dp"), degree, "dp")


def with_members(job: Recording, family: Replicas, degree: int, setting: str) -> None:
    """Give each group of a family `degree` ranks, whose shares are already of that many."""
    _Change(job, family, degree, setting).run()


def about(given: Metadata, rank: int, ranks: int) -> Metadata:
    said = {"rank": rank, "world_size": ranks}
    attributes = tuple(
        Attribute(item.name, said.get(item.name, item.value), item.kind, item.doc)
        for item in given.attributes
        if item.name != "recording"  # counts of a file that this is not
    )
    return given._replace(attributes=attributes)


def declare(node: Node, old: Groups, new: Groups, everyone: tuple[int, ...]) -> None:
    """Write the new members into what the trace says of its process groups."""
    listed = process_groups(node.inputs.values) if node.inputs is not None else []
    if not listed or node.inputs is None:
        return
    named = {frozenset(members): name for name, members in old.items()}
    entries = json.loads(ast.literal_eval(node.inputs.values)[0])
    for entry, declared in zip(entries, listed, strict=True):
        members = new.get(named.get(frozenset(declared.ranks), WORLD), everyone)
        entry["ranks"], entry["group_size"] = list(members), len(members)
    node.inputs = node.inputs._replace(values=str([json.dumps(entries)]))


def _order(seat: _Seat, place: dict[int, int], replicas: Replicas) -> tuple[int, int, int]:
    """Replicas as far apart as they were, if that is everywhere the same; else one after the
    other.
    """
    rank, degree = seat.rank, replicas.degree
    strides = {b - a for group in replicas.groups for a, b in pairwise(group)}
    stride = strides.pop() if len(strides) == 1 else 0
    if stride < 1 or any(place[one] != one // stride % degree for one in place):
        return seat.copy, rank, 0
    return rank // (stride * degree), seat.copy * degree + place[rank], rank % stride


class _Change:
    def __init__(self, job: Recording, replicas: Replicas, degree: int, setting: str) -> None:
        self.job, self.replicas, self.degree, self.setting = job, replicas, degree, setting
        place = {rank: at for group in replicas.groups for at, rank in enumerate(group)}
        copies = -(-degree // replicas.degree)
        seats = [
            _Seat(copy, rank)
            for copy in range(copies)
            for rank in job.ranks
            if copy * replicas.degree + place[rank] < degree
        ]
        seats.sort(key=lambda seat: _order(seat, place, replicas))
        self.number = {seat: at for at, seat in enumerate(seats)}
        self.names: dict[tuple[int, str], str] = {}
        self.groups: Groups = {}
        self.of_all = {WORLD}  # groups of all ranks

    def run(self) -> None:
        self._groups()
        for rank in self.job.ranks:
            for node in self.job.nodes[rank]:
                self._check(node)
        nodes, metadata = {}, {}
        for seat, number in self.number.items():
            nodes[number] = [self._node(node, seat) for node in self.job.nodes[seat.rank]]
            metadata[number] = about(self.job.metadata[seat.rank], number, len(self.number))
        alone = {name for name, members in self.groups.items() if len(members) < 2}
        alone |= {WORLD} if len(self.number) < 2 else set()
        for rank, made in nodes.items():
            gone = {
                node.id
                for node in made
                if node.type == NodeType.COMM_COLL and group_of(node) in alone
            }
            nodes[rank] = without_stretch(made, gone) if gone else made
        groups = {name: ranks for name, ranks in self.groups.items() if name not in alone}
        self.job.nodes, self.job.metadata, self.job.groups = nodes, metadata, groups
        copied = {name: [new for (_, old), new in self.names.items() if old == name and new != name]
                  for name in groups}  # fmt: skip
        self.job.regroup(copied)

    def _groups(self) -> None:
        copies = {seat.copy for seat in self.number}
        used = {int(name) for name in self.job.groups if name.isdecimal()} | {0}
        for name, members in self.job.groups.items():
            if len(members) == len(self.job.ranks):
                self.groups[name] = tuple(self.number.values())
                self.of_all.add(name)
            elif name in self.replicas.names:
                self.groups[name] = tuple(
                    self.number[_Seat(copy, rank)]
                    for copy in sorted(copies)
                    for rank in members
                    if _Seat(copy, rank) in self.number
                )
            for copy in () if name in self.groups else sorted(copies):
                here = [rank for rank in members if _Seat(copy, rank) in self.number]
                if here and len(here) < len(members):
                    raise UnsupportedError(
                        f"{self.job.where}: {self.setting}: at {self.degree} the group {name} of "
                        f"ranks {', '.join(map(str, members))} would lose some; it must lie within "
                        "a replica"
                    )
                if here:
                    new = name if copy == 0 else str(max(used) + 1)
                    used.add(int(new) if new.isdecimal() else 0)
                    self.names[copy, name] = new
                    self.groups[new] = tuple(self.number[_Seat(copy, rank)] for rank in here)

    def _check(self, node: Node) -> None:
        if node.type != NodeType.COMM_COLL:
            return
        kind, group = whole(node, "comm_type"), group_of(node)
        sharded = self.replicas.sharded or self.setting != "dp"
        if not stays(kind, group, self.replicas.names, self.of_all, sharded):
            raise UnsupportedError(f"{self.job.where}: {self.setting}: {depends(node.label)}")

    def _node(self, node: Node, seat: _Seat) -> Node:
        made = Node(
            node.id,
            node.name,
            node.type,
            node.duration_micros,
            node.data_deps,
            node.ctrl_deps,
            node.attributes,
            start_micros=node.start_micros,
            inputs=node.inputs,
            outputs=node.outputs,
            foreign=node.foreign,
        )
        group = group_of(node)
        if (seat.copy, group) in self.names and node.attribute("pg_name"):
            made.set("pg_name", self.names[seat.copy, group])
        is_collective = node.type == NodeType.COMM_COLL
        is_gather = is_collective and whole(node, "comm_type") == CollectiveType.ALL_GATHER
        if is_gather and self.replicas.sharded and group in self.replicas.names:
            share = whole(node, "comm_size") * self.replicas.degree
            made.set("comm_size", -(-share // self.degree))
        for side in ("comm_src", "comm_dst"):
            peer = node.attribute(side)
            if peer is not None and isinstance(peer.value, int):
                made.set(side, self.number[_Seat(seat.copy, peer.value)], peer.kind)
        if node.type == NodeType.METADATA and node.inputs is not None:
            declare(made, self.job.groups, self.groups, tuple(self.number.values()))
        return made
