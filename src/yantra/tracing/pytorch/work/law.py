"""What a rule says of an operator's kernels.

Conventions: a multiply-accumulate is two operations; bytes are each operand read and each result
written once, so what a cache holds or a kernel reads again does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from yantra.tracing.pytorch.work.operands import Operands, Tensor

MOVES = 1
"""Operations of what only moves data: ASTRA-sim never ends a node with none."""


class Work(NamedTuple):
    """One operator's work.

    `op_class`, `dtype`, `phase`, `sizes`: as compute models read them. `parts`: bytes of single
    operands and, last, of the result. `passes`: bytes of another kernel that reads the operands
    again, 0 if there is none. `products`: equal products that kernels share, as both gradients of
    a convolution.
    """

    op_class: str
    dtype: str
    flops: int
    bytes: int
    phase: str = ""
    sizes: tuple[tuple[str, int], ...] = ()
    parts: tuple[int, ...] = ()
    passes: int = 0
    products: int = 1


Rule = Callable[[Operands], Work | None]


def moved(*tensors: Tensor | None) -> int:
    """Bytes of these tensors."""
    return sum(one.bytes for one in tensors if one is not None)
