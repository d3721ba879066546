"""Matrix products in all forms: 2 m n k operations for each of a batch.

Grouped: rows of all groups times one group's matrix, as each row meets one. Source: PyTorch's
native_functions.yaml for the places of operands.
"""

from __future__ import annotations

from math import prod

from yantra.tracing.pytorch.work.law import Rule, Work
from yantra.tracing.pytorch.work.operands import Operands, Tensor

_ADDED = {"addmm", "addbmm", "baddbmm", "_addmm_activation", "addmv", "addr"}
_NARROW = ("fp8", "int8")


def product(name: str, given: Operands) -> Work | None:
    """A x B, after what is added to it if `name` says so."""
    first = 1 if name in _ADDED else 0
    a, b = given.tensor(first), given.tensor(first + 1)
    if a is None or b is None:
        return None
    m, k, n, batch = _sides(name, a.shape, b.shape)
    if not k or (m and n and b.elements % k):
        return None
    added = given.tensor(0) if first and given.value(first + 2) != 0 else None
    width = _result_width(given, a)
    rows = 1 if name == "addbmm" else batch
    result = rows * m * n * width
    return _work(a, b, (batch, m, n, k), result, 0 if added is None else added.bytes)


def _sides(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, int, int, int]:
    """M, k, n and the batch; k of 0 if the shapes do not fit."""
    if name in ("dot", "vdot"):
        fits = len(a) == len(b) == 1 and a == b
        return 1, a[0] if fits else 0, 1, 1
    if name in ("addr", "ger", "outer"):
        fits = len(a) == len(b) == 1
        return (a[0], 1, b[0], 1) if fits else (0, 0, 0, 0)
    if name == "linear":
        fits = bool(a) and len(b) in (1, 2) and a[-1] == b[-1]
        return (prod(a[:-1]), a[-1], b[0] if len(b) == 2 else 1, 1) if fits else (0, 0, 0, 0)
    if not a or not b:
        return 0, 0, 0, 0
    if len(b) == 1:
        return (prod(a[:-1]), a[-1], 1, 1) if a[-1] == b[0] else (0, 0, 0, 0)
    if len(a) == 1:
        return (1, a[0], prod(b) // (a[0] or 1), 1) if a[0] == b[-2] else (0, 0, 0, 0)
    if a[-1] != b[-2]:
        return 0, 0, 0, 0
    if len(b) == 2:
        return prod(a[:-1]), a[-1], b[-1], 1
    lead = _lead(a[:-2], b[:-2])
    return a[-2], a[-1], b[-1], lead


def _lead(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    made = list(longer)
    for place, size in enumerate(shorter, len(longer) - len(shorter)):
        made[place] = max(made[place], size)
    return prod(made)


def _result_width(given: Operands, a: Tensor) -> int:
    if given.outputs:
        return given.outputs[0].width
    if a.dtype not in _NARROW:
        return a.width
    return 4 if a.dtype == "int8" else 2


def _work(a: Tensor, b: Tensor, sides: tuple[int, int, int, int], result: int, added: int) -> Work:
    batch, m, n, k = sides
    sizes = (("batch", batch),) if batch > 1 else ()
    return Work(
        "gemm", a.dtype, 2 * batch * m * n * k, a.bytes + b.bytes + result + added,
        sizes=(*sizes, ("m", m), ("n", n), ("k", k)), parts=(a.bytes, b.bytes, result),
    )  # fmt: skip


def grouped(given: Operands) -> Work | None:
    """Rows [t, k] times [g, k, n]; gradients of weights: [k, t] times [t, n] for each group."""
    a, b = given.tensor(0), given.tensor(1)
    if a is None or b is None or not a.shape or not b.shape:
        return None
    width = _result_width(given, a)
    if len(a.shape) == 2 and len(b.shape) == 3:
        groups, (rows, k), n = b.shape[0], a.shape, b.shape[2]
        flops, result = 2 * rows * k * n, rows * n * width
    elif len(a.shape) == 3 and len(b.shape) == 2:
        groups, (_, rows, k), n = a.shape[0], a.shape, b.shape[1]
        flops, result = 2 * rows * k * n, rows * n * width
    elif len(a.shape) == len(b.shape) == 2:
        offsets = next((one for one in (*given.slots[2:],) if isinstance(one, Tensor)
                        and len(one.shape) == 1), None)  # fmt: skip
        groups = offsets.elements if offsets else 1
        (rows, k), n = a.shape, b.shape[1]
        flops, result = 2 * rows * k * n, groups * rows * n * width
    else:
        return product("bmm", given)
    sizes = (("batch", groups), ("m", rows), ("n", n), ("k", k))
    moves = a.bytes + b.bytes + result
    parts = (a.bytes, b.bytes, result)
    return Work("gemm", a.dtype, flops, moves, sizes=sizes, parts=parts)


def _of(name: str) -> Rule:
    return lambda given: product(name, given)


RULES: dict[str, Rule] = {
    name: _of(name)
    for name in (
        "mm", "bmm", "mv", "dot", "vdot", "ger", "outer", "linear", "matmul", "_int_mm",
        "_scaled_mm", *sorted(_ADDED),
    )
}  # fmt: skip
RULES |= {"_grouped_mm": grouped, "_scaled_grouped_mm": grouped}
