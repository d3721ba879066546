"""Experts split over more or fewer of the same replicas.

Each rank sends as many tokens as before, to other ranks; it has fewer experts with more tokens
each, or more with fewer. Trade-off: only where experts run at once and take equal numbers of
tokens; which tokens others would get is not recorded.

Sources: Lepikhin et al., GShard (2021); Rajbhandari et al., DeepSpeed-MoE (2022).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from yantra.base.errors import UnsupportedError
from yantra.chakra import CollectiveType, Node, NodeType
from yantra.tracing.inspect.groups import WORLD
from yantra.tracing.rescale.model import ATTENTION, flat_shapes, parsed
from yantra.tracing.rescale.recording import Recording, Replicas, group_of, value, whole
from yantra.tracing.rescale.repeat import without_stretch
from yantra.tracing.rescale.replicas import declare
from yantra.tracing.rescale.split import Numbers
from yantra.tracing.rescale.tensors import renumber

_BATCHED = ("aten::bmm", "aten::baddbmm", "aten::_grouped_mm")
_PLAIN = ("aten::mm", "aten::addmm", "aten::linear")
_GRADIENT = "torch::autograd::AccumulateGrad"

Groups = list[tuple[int, ...]]


def with_experts(job: Recording, text: str) -> None:
    """Raises UnsupportedError where tokens of other experts are not determined."""
    family = job.family("ep", "expert", "of ranks that exchange tokens")
    degree = value("ep", text, family.degree)
    if degree == family.degree:
        return
    _check_even(job, family)
    old, new = _regrouped(job, family, degree)
    sums = [name for name, at in old.items() if name not in family.names]
    for rank in job.ranks:
        nodes = job.nodes[rank]
        numbers = Numbers("ep", job.where)
        _of_experts(numbers, nodes, family, degree)
        numbers.follow(nodes)
        renumber(nodes, numbers.new(), sums, job.where, "ep")
    _rename(job, old, new)


def _check_even(job: Recording, family: Replicas) -> None:
    for members in family.groups:
        sent = [
            [whole(node, "comm_size") for node in job.nodes[rank] if _is_exchange(node, family)]
            for rank in members
        ]
        shares = [
            listed
            for rank in members
            for node in job.nodes[rank]
            if _is_exchange(node, family) and node.inputs
            for listed in parsed(node.inputs.values)[3:]
            if isinstance(listed, list) and listed
        ]
        if any(one != sent[0] for one in sent) or any(len(set(one)) > 1 for one in shares):
            raise UnsupportedError(
                f"{job.where}: ep: ranks send unequal numbers of tokens, and which tokens other "
                "experts would get is not recorded"
            )


def _is_exchange(node: Node, family: Replicas) -> bool:
    is_all_to_all = whole(node, "comm_type") == CollectiveType.ALL_TO_ALL
    return node.type == NodeType.COMM_COLL and is_all_to_all and group_of(node) in family.names


def _of_experts(numbers: Numbers, nodes: list[Node], family: Replicas, degree: int) -> None:
    """What products between two exchanges say is split; what is outside them is whole."""
    factor = Fraction(family.degree, degree)
    inside, experts = False, set[int]()
    for node in nodes:
        shapes = flat_shapes(node)
        if _is_exchange(node, family):
            inside = not inside
            numbers.keep((one for shape in shapes for one in shape), "a size of what is exchanged")
        elif inside and node.name in _BATCHED and len(shapes) > 1:
            experts.add(shapes[-1][0])
        elif inside and node.name in _PLAIN:
            raise UnsupportedError(
                f"{numbers.where}: ep: {node.label} is a product of one expert, so what more or "
                "fewer would run is not determined; record with experts that run at once"
            )
        elif node.name in (*_PLAIN, *_BATCHED) or ATTENTION in node.name:
            numbers.keep((one for shape in shapes for one in shape), "a size outside the experts")
    if len(experts) != 1:
        raise UnsupportedError(
            f"{numbers.where}: ep: between exchanges of tokens {len(experts)} numbers of experts "
            "have products of all at once, so how many a rank has is not determined"
        )
    here = experts.pop()
    numbers.change(here, factor)
    for node in nodes:
        if node.name == _GRADIENT and (shapes := flat_shapes(node)) and shapes[0][0] == here:
            numbers.keep(shapes[0][1:], "a size of an expert")
    if any({here, family.degree} <= set(shape) for node in nodes for shape in _after(node)):
        numbers.change(family.degree, 1 / factor)


def _after(node: Node) -> Iterable[tuple[int, ...]]:
    return flat_shapes(Node(0, inputs=node.outputs)) if node.outputs else flat_shapes(node)


def _regrouped(
    job: Recording, family: Replicas, degree: int
) -> tuple[dict[str, tuple[int, ...]], dict[str, Groups]]:
    """Groups of experts and of their replicas by name, and the new groups instead of each."""
    outer = job.around(family)
    copies = len(outer[0]) // family.degree
    if len(outer[0]) % degree:
        raise UnsupportedError(
            f"{job.where}: ep: {len(outer[0])} replicas do not divide into groups of {degree}"
        )
    if copies == 1 and degree < family.degree:
        raise UnsupportedError(
            f"{job.where}: ep: at {degree} experts have replicas, and how their gradients are "
            "summed is not recorded"
        )
    apart = _places(family.groups[0], outer[0]) != list(range(family.degree))
    experts: Groups = []
    replicas: Groups = []
    for group in outer:
        new = len(group) // degree
        rows = [group[at * degree : (at + 1) * degree] for at in range(new)]
        columns = [group[at::degree] for at in range(degree)]
        if apart:
            rows, columns = [group[at::new] for at in range(new)], [
                group[at * new : (at + 1) * new] for at in range(degree)
            ]  # fmt: skip
        experts += rows
        replicas += columns if new > 1 else []
    old = {name: job.members(name) for name in family.names}
    sums = {name: job.members(name) for name in job.sums_of_gradients(family.names)}
    beside = [name for name, one in sums.items() if len(one) == copies and _is_beside(one, family)]
    old |= {name: sums[name] for name in beside}
    return old, {name: replicas if name in beside else experts for name in old}


def _places(group: tuple[int, ...], outer: tuple[int, ...]) -> list[int]:
    return [outer.index(rank) - outer.index(group[0]) for rank in group]


def _is_beside(members: tuple[int, ...], family: Replicas) -> bool:
    """Whether a group has one rank of each of several groups of the family."""
    return len(members) > 1 and all(len(set(members) & set(one)) < 2 for one in family.groups)


def _rename(job: Recording, old: dict[str, tuple[int, ...]], new: dict[str, Groups]) -> None:
    """Put each rank into its new groups; collectives of groups of one are left out."""
    used = {int(name) for name in (*job.groups, "0") if name.isdecimal()}
    names: dict[tuple[int, ...], str] = {}
    for members in (one for groups in new.values() for one in groups):
        if members not in names:
            names[members] = WORLD if list(members) == job.ranks else str(max(used) + 1)
            used.add(max(used) + 1)
    before = dict(job.groups)
    for name in old:
        job.groups.pop(name, None)
    job.groups |= {name: members for members, name in names.items() if name != WORLD}
    for rank in job.ranks:
        mine = {name: names[one] for name in old for one in new[name] if rank in one}
        gone = set()
        for node in job.nodes[rank]:
            group = group_of(node)
            if node.type == NodeType.COMM_COLL and group in old:
                gone |= set() if group in mine else {node.id}
                node.set("pg_name", mine.get(group, group))
            elif node.type == NodeType.METADATA:
                declare(node, before, job.groups | {
                    name: job.groups.get(one, tuple(job.ranks)) for name, one in mine.items()
                }, tuple(job.ranks))  # fmt: skip
        job.nodes[rank] = without_stretch(job.nodes[rank], gone) if gone else job.nodes[rank]
    job.regroup({name: list(dict.fromkeys(names[one] for one in new[name])) for name in old})
