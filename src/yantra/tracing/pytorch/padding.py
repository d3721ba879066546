"""What FSDP2 pads on other numbers of ranks, from recorded shapes of gradients.

FSDP2 cuts each parameter along its first dimension: of d rows each of n ranks has ceil(d / n), the
rest is padding. On n ranks a group of parameters has

    n * sum of ceil(d / n) * (elements of a row)

elements. `fsdp::chunk_cat` shows the gradients' shapes in a host trace, or a device trace with
`record_shapes=True`. A collective matches gradients of as many bytes on the recorded ranks.

Source: `fully_shard` of PyTorch (torch/distributed/fsdp/_fully_shard), and recordings of PyTorch
2.13 on 2, 3, 4 and 8 ranks.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

from yantra.tracing.pytorch.linked import Linked
from yantra.tracing.pytorch.tensors import decoded

_GRADIENTS = "fsdp::chunk_cat"
_WIDTHS = (1, 2, 4, 8)  # bytes of an element

Shapes = tuple[tuple[int, ...], ...]


def gradients(linked: Linked) -> set[Shapes]:
    found = set()
    for operator in linked.operators:
        if operator.name == _GRADIENTS:
            shapes = decoded(operator.inputs).shapes
            if shapes and isinstance(shapes[0], list) and all(map(_is_shape, shapes[0])):
                found.add(tuple(map(tuple, shapes[0])))
    return {shapes for shapes in found if shapes}


def padded(shapes: Shapes, ranks: int) -> int:
    return ranks * sum(-(-shape[0] // ranks) * prod(shape[1:]) for shape in shapes)


class Padding:
    """From recorded sizes to those on other ranks, for a trace's gradients."""

    def __init__(self, lists: Iterable[Shapes], recorded: int, ranks: int) -> None:
        self._known: dict[int, set[int]] = {}
        for shapes in lists:
            self._known.setdefault(padded(shapes, recorded), set()).add(padded(shapes, ranks))

    def whole(self, whole_bytes: int) -> int | None:
        found = {
            other * width
            for width in _WIDTHS
            if whole_bytes % width == 0
            for other in self._known.get(whole_bytes // width, ())
        }
        return found.pop() if len(found) == 1 else None


def _is_shape(shape: Any) -> bool:
    if not isinstance(shape, list) or not shape:
        return False
    return all(type(one) is int and one > 0 for one in shape)
