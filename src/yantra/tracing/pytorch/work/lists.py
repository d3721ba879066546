"""Kernels over lists of tensors: optimizers and joining.

Operations a parameter: Adam 12 (Kingma and Ba, 2015). Kineto leaves out the type of a list; then
bytes count elements, and the kernel's name tells their width.
"""

from __future__ import annotations

from yantra.tracing.pytorch.work.law import MOVES, Rule, Work
from yantra.tracing.pytorch.work.operands import Operands, Tensor


def joined(given: Operands) -> Work | None:
    """`cat`, `stack`: all parts read and written; a list's types may be unknown."""
    parts = list(given.tensors())
    if not parts:
        return None
    width, dtype = _of_lists([tuple(parts)])
    return Work("copy", dtype, MOVES, 2 * width * sum(one.elements for one in parts))


def foreach(given: Operands) -> Work | None:
    """Lists of tensors, all read that are given, the first written; norms write a number each."""
    name = given.name.removeprefix("aten::_foreach_")
    lists = given.lists()
    if not lists:
        return None
    width, dtype = _of_lists(lists)
    first = sum(one.elements for one in lists[0])
    read = sum(one.elements for some in lists for one in some)
    if name in ("zero_",):
        read = 0
    if name == "copy_":
        read -= first
    written = len(lists[0]) if name == "norm" else first
    each = {"lerp_": 3, "addcdiv_": 3, "addcmul_": 3}.get(name, 1)
    flops = MOVES if name in ("copy_", "zero_") else max(first * each, MOVES)
    return Work("optimizer", dtype, flops, (read + written) * width)


def fused_adam(given: Operands) -> Work | None:
    """Parameters, gradients and both moments are read, all but gradients written."""
    lists = given.lists()
    if not lists:
        return None
    width, dtype = _of_lists(lists)
    count = sum(one.elements for one in lists[0])
    states = 4 if "adam" in given.name else 3
    return Work("optimizer", dtype, 12 * count, count * (2 * states - 1) * width)


def _of_lists(lists: list[tuple[Tensor, ...]]) -> tuple[int, str]:
    """Bytes of an element and its type; Kineto leaves the type of lists out, then 1 and ""."""
    known = next((one for some in lists for one in some if one.width), None)
    return (1, "") if known is None else (known.width, known.dtype)


RULES: dict[str, Rule] = {
    "cat": joined, "stack": joined,
    "_fused_adam_": fused_adam, "_fused_adamw_": fused_adam, "_fused_sgd_": fused_adam,
}  # fmt: skip
