"""The job as checks see it: columns, communication orders, groups, ranks."""

from __future__ import annotations

from typing import NamedTuple

from yantra.base.units import format_size
from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import Columns, collective_name
from yantra.tracing.inspect.groups import WORLD, Declared, Groups, declared_groups, inferred_groups
from yantra.tracing.inspect.validate.order import Order
from yantra.tracing.inspect.validate.report import Finding, Report, Severity


class Call(NamedTuple):
    """What a collective's ranks must agree on."""

    comm_type: int | None
    size: int | None
    involved: tuple[int, int]

    def __str__(self) -> str:
        size = "no size" if self.size is None else format_size(self.size)
        return f"{collective_name(self.comm_type)} of {size}"


class Member(NamedTuple):
    """A rank; equal files share columns and order."""

    rank: int
    path: str
    columns: Columns
    order: Order
    calls: dict[str, list[int]]


class LoadedJob:
    """All readable ranks. `world`: their number if the job is known to be whole."""

    def __init__(
        self, report: Report, groups: Groups | None, world: int | None, group_file: bool
    ) -> None:
        self.report = report
        self.members: dict[int, Member] = {}
        self.world = world
        self.given = group_file
        self.groups: Groups = groups or {}
        self.declared: dict[int, list[Declared]] = {}

    def add(self, rank: int, path: str, columns: Columns, order: Order) -> None:
        calls: dict[str, list[int]] = {}
        for node in order.sequence:
            if columns.type[node] == NodeType.COMM_COLL:
                calls.setdefault(columns.group[node], []).append(node)
        self.members[rank] = Member(rank, path, columns, order, calls)

    def find_groups(self) -> None:
        seen: dict[int, list[Declared]] = {}
        for rank, member in self.members.items():
            key = id(member.columns)
            if key not in seen:
                seen[key] = declared_groups(member.columns)
            self.declared[rank] = seen[key]
        if self.given:
            return
        by_rank = {rank: member.columns for rank, member in self.members.items()}
        self.groups = inferred_groups(by_rank)
        for listed in self.declared.values():
            self.groups |= {group.name: group.ranks for group in listed if group.name != WORLD}

    def ranks_of(self, group: str) -> list[int]:
        if group == WORLD:
            return sorted(self.members)
        return sorted(set(self.groups.get(group, ())) & self.members.keys())

    def call(self, rank: int, node: int) -> Call:
        columns = self.members[rank].columns
        return Call(columns.comm_type[node], columns.comm_size[node], columns.involved(node))

    def add_finding(
        self,
        severity: Severity,
        code: str,
        section: str,
        rank: int | None,
        node: int | None,
        text: str,
    ) -> None:
        id, name = None, ""
        if rank is not None and node is not None:
            columns = self.members[rank].columns
            id, name = columns.id[node], columns.name(node)
        self.report.add(Finding(severity, code, section, rank, id, name, text))

    def label(self, rank: int, node: int) -> str:
        return self.members[rank].columns.label(node)
