"""Small workloads of every shape that templates have, and the traces their ranks mean."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

from yantra.chakra import Attribute, CollectiveType, Node, NodeType, Trace
from yantra.workloads.templates import RankClass, Workload
from yantra.workloads.templates.grid import Grid, Group, grid_of, peer_of

_KINDS = (
    CollectiveType.ALL_REDUCE,
    CollectiveType.ALL_GATHER,
    CollectiveType.REDUCE_SCATTER,
    CollectiveType.ALL_TO_ALL,
)
Namer = Callable[[str], str]
Ends = Callable[[str, bool], dict[str, int | str]]


def standard(tp: int = 2, dp: int = 2, pp: int = 2, *, seed: int = 0, nodes: int = 12) -> Workload:
    grid = grid_of(tp=tp, dp=dp, pp=pp)
    groups = _groups(grid, tp, dp, pp)
    stages = [f"stage{at}" for at in range(pp)]
    templates = {stage: _template(stage, groups, pp, seed, nodes) for stage in stages}
    classes = [RankClass("train", {"pp": at}, stage) for at, stage in enumerate(stages)]
    return Workload(grids=[grid], groups=groups, classes=classes, templates=templates)


def direct(
    workload: Workload, rank: int, seed: int = 0, nodes: int = 12, serial: bool = True
) -> Trace:
    (grid,) = workload.grids
    stage = workload.class_of(rank).template
    numbers = {members: str(number) for number, members in workload.communicators().items()}

    def name(group: str) -> str:
        members = grid.members(rank, workload.groups[group])
        wanted = [key for key in numbers if key == members]
        return numbers[wanted[0]] if wanted else "?"

    def ends(peer: str, sends: bool) -> dict[str, int | str]:
        other = peer_of(workload.grids, rank, peer)
        return {"comm_src": rank if sends else other, "comm_dst": other if sends else rank}

    made = _nodes(stage, workload.groups, grid.axes()["pp"], seed, nodes, name, ends)
    if serial:
        chain = [node for node in made if node.type == NodeType.COMM_COLL]
        for before, after in pairwise(chain):
            if before.id not in (*after.data_deps, *after.ctrl_deps):
                after.ctrl_deps.append(before.id)
    return Trace(made)


def _groups(grid: Grid, tp: int, dp: int, pp: int) -> dict[str, Group]:
    groups = {"tp": Group("dense", ("tp",)), "dp": Group("dense", ("dp",))}
    groups["tp_dp"] = Group("dense", ("tp", "dp"))
    groups["embedding"] = Group("dense", ("pp",), {"pp": sorted({0, pp - 1})})
    return {
        name: group
        for name, group in groups.items()
        if grid.smallest(group) > 1 and (name != "tp_dp" or (tp > 1 and dp > 1))
    }


def _template(stage: str, groups: dict[str, Group], pp: int, seed: int, nodes: int) -> Trace:
    return Trace(
        _nodes(stage, groups, pp, seed, nodes, lambda name: name, lambda p, _: {"comm_peer": p})
    )


def _nodes(
    stage: str, groups: dict[str, Group], pp: int, seed: int, count: int, name: Namer, ends: Ends
) -> list[Node]:
    dice = random.Random(f"{seed} {stage}")
    common = random.Random(seed)
    made: list[Node] = []
    at = int(stage.removeprefix("stage"))

    def add(label: str, type: NodeType, **attributes: object) -> Node:
        after = [dice.randrange(len(made))] if made and dice.random() < 0.8 else []
        items = [Attribute(key, value) for key, value in attributes.items()]  # type: ignore[arg-type]
        node = Node(len(made), label, type, 0, after, (), items)
        made.append(node)
        return node

    names = [group for group in groups if group != "embedding"]
    for step in range(count):
        size = 1 << dice.randrange(8, 20)
        match dice.randrange(3):
            case 0:
                add(
                    f"c{step}", NodeType.COMP, is_cpu_op=False, num_ops=size * 100, tensor_size=size
                )
            case _ if names:
                kind, group = dice.choice(_KINDS), dice.choice(names)
                add(
                    f"k{step}",
                    NodeType.COMM_COLL,
                    is_cpu_op=False,
                    comm_type=int(kind),
                    comm_size=size,
                    pg_name=name(group),
                )
    if "embedding" in groups and at in (0, pp - 1):
        reduce = {"comm_type": 0, "comm_size": 4096, "pg_name": name("embedding")}
        add("embedding", NodeType.COMM_COLL, is_cpu_op=False, **reduce)
    for tag in range(2 if pp > 1 else 0):
        size = 1 << common.randrange(8, 16)
        for way, type in ((1, NodeType.COMM_SEND), (-1, NodeType.COMM_RECV)):
            sends = type == NodeType.COMM_SEND
            peer = ends("pp+1" if sends else "pp-1", sends)
            add(f"m{tag}{way}", type, is_cpu_op=False, comm_size=size, comm_tag=tag, **peer)
    return made
