"""Tensors split over more or fewer ranks: shapes, groups and ranks are made again.

A new rank runs what the rank at its place in the old group ran, on its share of the tensors.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod

from yantra.base.errors import UnsupportedError
from yantra.chakra import Node, NodeType
from yantra.tracing.rescale.model import flat_shapes, parameters_of
from yantra.tracing.rescale.recording import Recording, group_of, is_communication, value
from yantra.tracing.rescale.replicas import with_members
from yantra.tracing.rescale.sizes import resized, share_out
from yantra.tracing.rescale.split import Numbers, of_tensors


def with_tensors(job: Recording, text: str) -> None:
    """Raises UnsupportedError where the recording does not say what is split."""
    family = job.family("tp", "tensor", "of ranks that split tensors")
    degree = value("tp", text, family.degree)
    sums = job.sums_of_gradients(family.names)
    for rank in job.ranks:
        nodes = job.nodes[rank]
        numbers = Numbers("tp", job.where)
        of_tensors(numbers, nodes, family.names, family.degree, degree)
        numbers.follow(nodes)
        renumber(nodes, numbers.new(), sums, job.where, "tp")
    with_members(job, family, degree, "tp")


def renumber(
    nodes: list[Node], new: dict[int, int], sums: list[str], where: str, setting: str
) -> None:
    """Put new numbers into shapes, work, times and bytes, and into sums of gradients in buckets."""
    buckets = [node for node in nodes if is_communication(node) and group_of(node) in sums]
    untold = [node for node in buckets if not new.keys() & _sizes(node)]
    large = [node for node in untold if prod(max(flat_shapes(node), key=prod, default=())) > 1]
    parameters = parameters_of(nodes, sums, where) if large and len(untold) == len(buckets) else []
    if large and not parameters:
        raise UnsupportedError(
            f"{where}: {setting}: {large[0].label} sums gradients, and how many of another split "
            "is not determined"
        )
    resized(nodes, new, where)
    if parameters:
        before = sum(map(prod, parameters))
        after = sum(prod(new.get(one, one) for one in shape) for shape in parameters)
        share_out(nodes, sums, Fraction(after, before))


def _sizes(node: Node) -> set[int]:
    assert node.type != NodeType.COMP
    return {one for shape in flat_shapes(node) for one in shape}
