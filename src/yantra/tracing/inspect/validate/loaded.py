"""The job as checks see it: columns, communication orders, groups, ranks."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import NamedTuple

from yantra.base.units import format_size
from yantra.chakra.trace import Trace
from yantra.tracing.inspect.columns import Columns, collective_name
from yantra.tracing.inspect.groups import WORLD, Declared, Groups, groups_of_users
from yantra.tracing.inspect.validate.facts import Communications, Facts, KeptOrder
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
    """A rank; nodes are its communications by place."""

    rank: int
    path: str
    facts: Facts

    @property
    def columns(self) -> Communications:
        return self.facts.columns

    @property
    def order(self) -> KeptOrder:
        return self.facts.order

    @property
    def calls(self) -> dict[str, array[int]]:
        return self.facts.calls


class LoadedJob:
    """All readable ranks. `world`: their number if the job is known to be whole; `load` reads the
    trace of a rank again.
    """

    def __init__(
        self, report: Report, groups: Groups | None, world: int | None, load: Callable[[int], Trace]
    ) -> None:
        self.report = report
        self.members: dict[int, Member] = {}
        self.world = world
        self.given = groups is not None
        self.groups: Groups = groups or {}
        self.declared: dict[int, list[Declared]] = {}
        self._load = load
        self._whole: tuple[int, Order] | None = None  # the last that was read again

    def add(self, rank: int, path: str, facts: Facts) -> None:
        self.members[rank] = Member(rank, path, facts)

    def runs_before(self, rank: int, first: int, second: int) -> bool:
        """Whether a rank surely enters one communication before another."""
        if first >= second:
            return False
        if self._whole is None or self._whole[0] != rank:
            self._whole = None
            self._whole = rank, Order(Columns(self._load(rank)))
        order = self._whole[1]
        return order.decided([order.sequence[first], order.sequence[second]])

    def find_groups(self) -> None:
        self.declared = {rank: member.facts.declared for rank, member in self.members.items()}
        if self.given:
            return
        self.groups = groups_of_users(
            {rank: member.facts.used for rank, member in self.members.items()}
        )
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
