"""What names mean by rule, and communicators by form, is what each rank finds alone."""

from __future__ import annotations

from math import prod
from random import Random

import pytest

from tests.oracles.small_workloads import standard
from yantra import _core
from yantra.base.errors import ConfigError
from yantra.chakra import Attribute, Node, NodeType, Trace
from yantra.compile.communicators import Communicators
from yantra.compile.network import add_dimensions
from yantra.compile.removal import NOTHING
from yantra.scenario import Dimension, Topology
from yantra.workloads.templates import RankClass, Workload
from yantra.workloads.templates.grid import Grid, Group, peer_of
from yantra.workloads.templates.rules import NONE, Sum, peer_rule

CUT = {"pp": ((0, 5), (1, 4))}


def value(rule: Sum, rank: int) -> int | None:
    number = rule.base + (rank if rule.relative else 0)
    for stride, size, factor, values in rule.axes:
        at = (rank - rule.first_rank) // stride % size
        part = values[at] if values else factor * at
        if part == NONE and not rule.relative:
            return None
        number += part
    return number % 2**32


def two_grids() -> Workload:
    front = Grid("front", 0, {"dense": (("tp", 2), ("dp", 3), ("pp", 6))})
    back = Grid("back", 36, {"dense": (("tp", 4), ("dp", 3))})
    groups = {
        "tp": Group("dense", ("tp",), grid="front"),
        "ends": Group("dense", ("pp",), CUT, grid="front"),
        "halves": Group("dense", ("tp", "dp"), {"tp": ((3, 1), (0, 2))}, grid="back"),
    }
    classes = [RankClass("front", {"pp": (2, 3)}, "inner"), RankClass("front", {}, "outer")]
    classes.append(RankClass("back", {}, "back"))
    peers = {"inner": ["pp+1", "dp-1,pp=5"], "outer": ["back:tp=3"], "back": ["front:pp=2,tp=1"]}
    named = {"inner": ["tp"], "outer": ["ends"], "back": ["halves"]}
    templates = {name: _template(named[name], peers[name]) for name in named}
    return Workload(grids=[front, back], groups=groups, classes=classes, templates=templates)


def _template(groups: list[str], peers: list[str]) -> Trace:
    nodes = []
    for group in groups:
        attributes = [Attribute("comm_type", 0), Attribute("comm_size", 8)]
        nodes.append((NodeType.COMM_COLL, [*attributes, Attribute("pg_name", group)]))
    for peer in peers:
        nodes.append((NodeType.COMM_SEND, [Attribute("comm_peer", peer)]))
    return Trace(
        [
            Node(id=at, name=str(at), type=type, attributes=attributes)
            for at, (type, attributes) in enumerate(nodes)
        ]
    )


JOBS = [(2, 3, 2), (4, 1, 3), (1, 2, 4), (3, 2, 1), None]


@pytest.mark.parametrize("sizes", JOBS)
def test_the_rules_say_for_each_rank_what_it_finds_alone(
    sizes: tuple[int, int, int] | None,
) -> None:
    workload = two_grids() if sizes is None else standard(*sizes)
    roles, column = workload.roles()
    assert len(column) == workload.ranks
    assert list(dict.fromkeys(column)) == list(range(len(roles)))
    for rank in range(workload.ranks):
        template, grid = roles[column[rank]]
        assert template == workload.class_of(rank).template
        groups, peers = workload.rules(template, grid, workload.names(template))
        meaning = workload.meaning(rank)
        assert [value(rule, rank) for rule in groups] == list(meaning.groups.values())
        assert [value(rule, rank) for rule in peers] == list(meaning.peers.values())


@pytest.mark.parametrize("sizes", JOBS)
def test_families_and_numbered_groups_are_the_communicators(
    sizes: tuple[int, int, int] | None,
) -> None:
    workload = two_grids() if sizes is None else standard(*sizes)
    assert dict(workload.numbered_groups()) == workload.communicators()
    assert workload.numbered_groups()[1:3] == list(workload.communicators().items())[1:3]
    found: dict[int, list[int]] = {}
    for family in workload.families():
        lowest = {family.first_id: family.base}
        for count, step, id_step in family.axes:
            lowest = {
                number + at * id_step: base + at * step
                for number, base in lowest.items()
                for at in range(count)
            }
        offsets = [0]
        for count, step, listed in family.offsets:
            steps = listed or tuple(at * step for at in range(count))
            offsets = [offset + step for offset in offsets for step in steps]
        found |= {number: sorted(base + o for o in offsets) for number, base in lowest.items()}
    assert found == {number: list(m) for number, m in workload.communicators().items()}


def test_a_rank_outside_the_groups_of_its_template_is_named() -> None:
    workload = two_grids()
    rules, _ = workload.rules("outer", "front", workload.names("outer"))
    assert [value(rules[0], rank) for rank in (0, 11, 12, 30)] == [19, 30, None, 19]
    with pytest.raises(ConfigError, match="no grid is named 'side'"):
        peer_rule(workload.grids, workload.grids[0], "side:tp=0")
    with pytest.raises(ConfigError, match="no grid is named 'side'"):
        peer_of(workload.grids, 0, "side:tp=0")


def whole_dimensions(sizes: tuple[int, ...], members: list[int]) -> frozenset[int] | None:
    strides = [prod(sizes[:d]) for d in range(len(sizes))]
    places = [tuple(rank // s % n for s, n in zip(strides, sizes, strict=True)) for rank in members]
    spread = [len({place[d] for place in places}) for d in range(len(sizes))]
    if any(1 < count < n for count, n in zip(spread, sizes, strict=True)):
        return None
    spanned = frozenset(d for d, n in enumerate(sizes) if spread[d] == n)
    return spanned if prod(sizes[d] for d in spanned) == len(members) else None


def test_groups_that_lie_alike_span_what_each_spans() -> None:
    random = Random(5)
    sizes = (2, 3, 1, 4)
    dimensions = [Dimension(kind="ring", size=n, bytes_per_ns=1.0, latency_ns=1.0) for n in sizes]
    builder = _core.ModelBuilder(_core.TimeScale.picoseconds())
    add_dimensions(builder, Topology(dimensions=tuple(dimensions)), NOTHING)
    groups = []
    for _ in range(400):
        length, step = random.choice((2, 3, 4, 6, 12)), random.choice((1, 2, 3, 6))
        first = random.randrange(24)
        members = [first + at * step for at in range(length)]
        if members[-1] < prod(sizes):
            groups.append(members)
    communicators = Communicators(builder, prod(sizes), sizes)
    communicators.add_groups(enumerate(map(tuple, groups), start=1))
    layouts = {layout.id: layout for layout in communicators.layouts}
    for number, members in enumerate(groups, start=1):
        communicator = communicators.find(str(number))
        assert communicator is not None
        layout = layouts[builder.layout_of(communicator)]
        assert layout.size == len(members)
        assert layout.whole == whole_dimensions(sizes, members)
    aligned = [layout for layout in layouts.values() if layout.whole is not None]
    assert 3 < len(aligned) < len(layouts) < len(groups)
