"""The sizes of a recorded step: its parameters, its batch, its sequences and its heads.

Parameters are the tensors whose gradients PyTorch's DDP hands back one by one, or whose elements
the optimizer updates, if they add up to the bytes that the replicas sum. The batch is that of the
first operator that takes a parameter.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.chakra import Node, NodeType
from yantra.chakra.schema import IOInfo
from yantra.tracing.rescale.recording import group_of, whole

Shape = tuple[int, ...]
_GRADIENTS = "torch.distributed.ddp.reducer::copy_bucket_to_grad"
WIDTHS = (4, 2, 8)
"""Bytes of an element of a gradient."""

ATTENTION = "scaled_dot_product"


class Sizes(NamedTuple):
    """`parameters`: shapes, each as often as there are such. `width`: the last size of activations.
    `batch`, `sequence` (0: none), `heads`, `head` (0: no attention). `flat`: elements of buckets.
    """

    parameters: list[Shape]
    width: int
    batch: int
    sequence: int
    heads: int
    head: int
    flat: frozenset[int]

    @property
    def tokens(self) -> int:
        return self.batch * max(self.sequence, 1)


def sums_in(nodes: list[Node], names: list[str]) -> list[Node]:
    return [node for node in nodes if node.type == NodeType.COMM_COLL and group_of(node) in names]


def parameters_of(nodes: list[Node], names: list[str], where: str) -> list[Shape]:
    """The shapes of parameters. Raises UnsupportedError if they are not what groups `names` sum."""
    total = sum(whole(node, "comm_size") for node in sums_in(nodes, names))
    parameters = next(
        (
            shapes
            for shapes in _candidates(nodes)
            for width in WIDTHS
            if shapes and sum(map(prod, shapes)) * width == total
        ),
        None,
    )
    if parameters is None:
        raise UnsupportedError(
            f"{where}: the recorded shapes of gradients do not add up to the {total} bytes that "
            "the replicas sum, so the sizes of the model are not determined; record with shapes "
            "(record_shapes=True, or a host trace)"
        )
    return parameters


def sizes_of(nodes: list[Node], names: list[str], where: str) -> Sizes:
    """`names`: the groups that sum gradients. Raises UnsupportedError if shapes do not tell."""
    parameters = parameters_of(nodes, names, where)
    sums = sums_in(nodes, names)
    known = set(parameters)
    batch: Shape = ()
    for node in nodes:
        shapes = flat_shapes(node)
        first = shapes[0] if shapes else ()
        takes = any(shape in known for shape in shapes[1:])
        if takes and len(first) in (2, 3) and first not in known and node.type == NodeType.COMP:
            batch = first
            break
    if not batch:
        raise UnsupportedError(f"{where}: no operator takes a batch and a parameter")
    heads = head = 0
    for node in nodes:
        if ATTENTION in node.name and (shapes := flat_shapes(node)) and len(shapes[0]) == 4:
            heads, head = shapes[0][1], shapes[0][3]
            break
    return Sizes(
        parameters,
        batch[-1],
        batch[0],
        batch[1] if len(batch) == 3 else 0,
        heads,
        head,
        frozenset(whole(node, "comm_size") // width for node in sums for width in WIDTHS),
    )


def _candidates(nodes: list[Node]) -> Iterable[list[Shape]]:
    yield [shape for node in nodes if node.name == _GRADIENTS for shape in flat_shapes(node)[:1]
           if not node.get("part")]  # fmt: skip
    by_id = {node.id: node for node in nodes}
    updates: dict[str, list[Shape]] = {}
    for node in nodes:
        above = by_id.get(node.ctrl_deps[0]) if node.ctrl_deps else None
        if above is not None and above.name.startswith("Optimizer.step#"):
            lists = parsed(node.inputs.shapes) if node.inputs else []
            first = lists[0] if lists else []
            several = bool(first) and isinstance(first[0], list)
            found = [tuple(one) for one in first] if several else flat_shapes(node)[:1]
            updates.setdefault(node.name, []).extend(found)
    yield from updates.values()


def flat_shapes(node: Node) -> list[Shape]:
    """The shapes of a node's inputs, those within lists, too; () of a number is left out."""
    if node.inputs is None:
        return []
    found: list[Shape] = []
    pending: list[Any] = list(reversed(parsed(node.inputs.shapes)))
    while pending:
        one = pending.pop()
        if isinstance(one, list) and one:
            if all(isinstance(size, int) for size in one):
                found.append(tuple(one))
            else:
                pending += reversed(one)
    return found


@lru_cache(1 << 16)
def _parsed(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []


def parsed(text: str) -> list[Any]:
    """A list of a node's inputs; empty if its text is none."""
    made = _parsed(text) if text else []
    return made if isinstance(made, list) else []


def with_shapes(given: IOInfo, new: dict[int, int]) -> IOInfo:
    """Inputs with other sizes in their shapes, and the elements of their tensors."""
    shapes = parsed(given.shapes)
    made = [replaced(shape, new) for shape in shapes]
    values = parsed(given.values)
    if len(values) == len(made):
        values = [_counted(value, shape) for value, shape in zip(values, made, strict=True)]
    return given._replace(shapes=str(made), values=str(values) if values else given.values)


def replaced(shape: Any, new: dict[int, int]) -> Any:
    if isinstance(shape, list):
        return [replaced(one, new) for one in shape]
    return new.get(shape, shape)


def _counted(value: Any, shape: Any) -> Any:
    if not isinstance(value, list) or not isinstance(shape, list):
        return value
    is_flat = all(isinstance(size, int) for size in shape)
    if len(value) >= 5 and is_flat and all(isinstance(one, int) for one in value[:5]):
        return [*value[:3], prod(shape), *value[4:]]
    if len(value) == len(shape):
        return [_counted(one, part) for one, part in zip(value, shape, strict=True)]
    return value
