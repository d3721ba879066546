"""Work that memory bounds: elementwise, reductions, lookups, pooling, kernels of compilers.

Operations an element: 1, of GELU 8, SiLU 5. Source: native_functions.yaml for the places of
operands.
"""

from __future__ import annotations

from math import prod
from typing import Any

from yantra.tracing.pytorch.work.law import MOVES, Rule, Work, moved
from yantra.tracing.pytorch.work.operands import Operands, Tensor, broadcast, widest

_EACH = {"gelu": 8, "gelu_backward": 8, "silu": 5, "silu_backward": 5, "native_dropout": 2,
         "addcmul": 2, "addcdiv": 2, "lerp": 3, "sigmoid_backward": 3,
         "tanh_backward": 3}  # fmt: skip
_MOVERS = (
    "copy_", "fill_", "zero_", "cat", "stack", "index", "index_select", "gather", "embedding",
    "clone", "arange", "_to_copy", "repeat", "roll", "flip", "constant_pad_nd", "pad", "slice",
    "expand", "scatter", "index_put_", "_index_put_impl_", "masked_select", "tril", "triu",
    "_pack_padded_sequence", "_unsafe_index", "narrow_copy", "tril_", "triu_", "ones", "zeros",
    "full", "index_copy_",
)  # fmt: skip
_BOOLEAN = {"eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "logical_and",
            "logical_or", "logical_not", "logical_xor", "isin"}  # fmt: skip
_WRITTEN_ONLY = ("fill_", "zero_", "normal_", "uniform_", "bernoulli_", "random_", "exponential_")


def elementwise(name: str, given: Operands) -> Work | None:
    """Reads all operands, writes their common shape; an in-place one reads what it changes."""
    known = [one for one in given.slots if isinstance(one, Tensor) and one.width]
    arrays = [one for one in known if one.shape] or known
    lead = widest(arrays)
    if lead is None:
        return None
    plain = name.rstrip("_")
    shape = broadcast(arrays)
    if given.outputs:
        written = given.outputs[0]
    elif name.endswith("_") and not name.endswith("__"):
        first = given.tensor(0)
        written = lead if first is None else first
    else:
        width = 1 if plain in _BOOLEAN else lead.width
        written = Tensor(shape, width, lead.dtype)
    moves = moved(*arrays) + written.bytes
    return _work("elementwise", plain, lead, max(prod(shape), written.elements), moves)


def _work(op_class: str, plain: str, lead: Tensor, elements: int, moves: int) -> Work:
    flops = MOVES if plain in _MOVERS else max(elements * _EACH.get(plain, 1), MOVES)
    return Work(op_class, lead.dtype, flops, moves)


def written_only(given: Operands) -> Work | None:
    """Fills and random numbers: one tensor is written."""
    one = given.tensor(0)
    if one is None or not one.width:
        return None
    name = given.name.removeprefix("aten::")
    flops = MOVES if name in _MOVERS else one.elements
    return Work("elementwise", one.dtype, max(flops, MOVES), one.bytes)


def copy(given: Operands) -> Work | None:
    """The target's elements are read in the source's type, at most as many as it has, and
    written."""
    target, source = given.tensor(0), given.tensor(1)
    if target is None or source is None:
        return None
    return Work("copy", target.dtype, MOVES, target.bytes + source.bytes)


def taken(place_of_index: int, place_of_table: int = 0) -> Rule:
    """Lookups: an index and what it takes are read, the latter written."""

    def rule(given: Operands) -> Work | None:
        table, index = given.tensor(place_of_table), given.tensor(place_of_index)
        if table is None or index is None or not table.shape:
            return None
        name = given.name.removeprefix("aten::")
        if name == "index_select":
            axis = given.whole(1) or 0
            count = index.elements * table.elements // max(table.shape[axis], 1)
        elif name == "gather":
            count = index.elements
        else:
            count = index.elements * prod(table.shape[1:])
        rows = count * table.width
        return Work("embedding", table.dtype, MOVES, index.bytes + 2 * rows)

    return rule


def indexed(given: Operands) -> Work | None:
    """`index`: a list of indices takes rows of the first axes."""
    table = given.tensor(0)
    slot = given.listed(1)
    if table is None or not slot:
        return None
    taken_axes = min(len(slot), len(table.shape))
    shape = broadcast(list(slot))
    rows = prod(shape) * prod(table.shape[taken_axes:]) * table.width
    moves = sum(one.elements * (one.width or 8) for one in slot)
    return Work("embedding", table.dtype, MOVES, moves + 2 * rows)


def reduction(given: Operands) -> Work | None:
    """Reads the input, writes what is left of it; the axes reduced are in the first list."""
    one = given.tensor(0)
    if one is None or not one.width:
        return None
    left = _left(given, one)
    width = given.outputs[0].width if given.outputs else one.width
    name = given.name.removeprefix("aten::")
    width = 8 if name in ("argmax", "argmin") else 1 if name in ("any", "all") else width
    return Work(
        "reduction", one.dtype, max(one.elements, MOVES), one.bytes + left * width,
        parts=(one.bytes,),
    )  # fmt: skip


def _left(given: Operands, one: Tensor) -> int:
    if given.outputs:
        return given.outputs[0].elements
    axes: Any = given.value(1)
    axes = [axes] if type(axes) is int else axes
    if not isinstance(axes, list) or not axes or not all(type(axis) is int for axis in axes):
        return 1
    reduced = prod(one.shape[axis] for axis in axes if -len(one.shape) <= axis < len(one.shape))
    return one.elements // max(reduced, 1)


def scanned(given: Operands) -> Work | None:
    """`cumsum`, `sort`, `topk`: at least one pass that reads and writes."""
    one = given.tensor(0)
    if one is None or not one.width:
        return None
    width = 8 if given.name in ("aten::sort", "aten::argsort") else 0
    moves = 2 * one.bytes + one.elements * width
    return Work("reduction", one.dtype, max(one.elements, MOVES), moves, passes=2 * one.bytes)


def upsampled(given: Operands) -> Work | None:
    """The input is read, the stated size written."""
    one, sides = given.tensor(0), given.value(1)
    if one is None or not one.width or not isinstance(sides, list) or not sides:
        return None
    if not all(type(side) is int and side > 0 for side in sides) or len(sides) > len(one.shape):
        return None
    kept = prod(one.shape[: -len(sides)]) * prod(sides)
    return Work("elementwise", one.dtype, MOVES, one.bytes + kept * one.width)


def pooling(given: Operands) -> Work | None:
    """Windows read their input once; the result's size follows from kernel, stride, padding."""
    one = given.tensor(0)
    if one is None or not one.width or len(one.shape) < 3:
        return None
    if "backward" in given.name:
        data = given.tensor(1)
        if data is None:
            return None
        indices = sum(t.bytes for t in list(given.tensors())[2:])
        moves = one.bytes + indices + data.bytes
        return Work("elementwise", one.dtype, one.elements, moves, "dgrad")
    window = given.value(1)
    spatial = len(window) if isinstance(window, list) and window else 2
    left = _pooled(one.shape[-spatial:], given) if isinstance(window, list) else None
    kept = one.elements if left is None else prod(one.shape[:-spatial]) * left
    width = one.width + (8 if "indices" in given.name else 0)
    flops = kept * prod(window) if left is not None else one.elements
    return Work("elementwise", one.dtype, max(flops, MOVES), one.bytes + kept * width)


def _pooled(shape: tuple[int, ...], given: Operands) -> int | None:
    window: list[int] = given.value(1)
    if "adaptive" in given.name:
        return int(prod(window))
    lists: list[list[int]] = [
        value * len(shape) if len(value) == 1 else value
        for value in (window, given.value(2) or window, given.value(3) or [0])
    ]
    if any(len(value) != len(shape) for value in lists):
        return None
    sides = [
        (size + 2 * pad - side) // step + 1
        for size, side, step, pad in zip(shape, *lists, strict=True)
    ]
    return int(prod(sides))


def fused(given: Operands) -> Work | None:
    """A kernel of a compiler or a library: its arguments once, results among them.

    Of several kernels each other one counts the smaller arguments, not tables and weights, or the
    only one.
    """
    arrays = [one for one in given.tensors() if one.width and one.elements]
    if not arrays:
        return None
    lead = max(arrays, key=lambda one: (bool(one.dtype), one.elements))
    flops = max(one.elements for one in arrays)
    rest = moved(*arrays) - max(one.bytes for one in arrays) or moved(*arrays)
    return Work("elementwise", lead.dtype, flops, moved(*arrays), passes=rest)


def written_back(given: Operands) -> Work | None:
    """Gradients of lookups, scatters: the index and what it places are read, rows written."""
    name = given.name.removeprefix("aten::")
    source, index = _PLACED[name]
    one, at = given.tensor(source), given.tensor(index)
    indices = given.listed(index) if at is None else (at,)
    if one is None or not one.width or not indices:
        return None
    moves = sum(part.elements * (part.width or 8) for part in indices)
    return Work("embedding", one.dtype, MOVES, moves + 2 * one.bytes)


_PLACED = {
    "embedding_dense_backward": (0, 1), "index_put_": (2, 1), "_index_put_impl_": (2, 1),
    "scatter_": (3, 2), "scatter_add_": (3, 2), "scatter_add": (3, 2), "scatter": (3, 2),
    "index_add_": (3, 2), "index_add": (3, 2), "index_copy_": (3, 2),
}  # fmt: skip
"""Places of what is placed, and of the index."""

_REDUCTIONS = ("sum", "mean", "prod", "max", "min", "amax", "amin", "argmax", "argmin", "any",
               "all", "norm", "linalg_vector_norm", "var", "std", "var_mean", "std_mean",
               "logsumexp", "count_nonzero", "batch_norm_stats")  # fmt: skip
_SCANS = ("cumsum", "cumprod", "sort", "argsort", "topk", "nonzero", "unique", "_unique2",
          "searchsorted", "kthvalue", "median", "bincount", "histc")  # fmt: skip
RULES: dict[str, Rule] = dict.fromkeys(_WRITTEN_ONLY, written_only)
RULES |= dict.fromkeys(_REDUCTIONS, reduction) | dict.fromkeys(_SCANS, scanned)
RULES |= dict.fromkeys(
    ("max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool2d", "avg_pool3d",
     "_adaptive_avg_pool2d", "max_pool2d_with_indices_backward",
     "max_pool3d_with_indices_backward", "avg_pool2d_backward", "_adaptive_avg_pool2d_backward"),
    pooling,
)  # fmt: skip
RULES |= dict.fromkeys(_PLACED, written_back)
RULES |= dict.fromkeys(
    (f"upsample_{kind}" for kind in ("nearest1d", "nearest2d", "nearest3d", "linear1d",
                                     "bilinear2d", "bicubic2d", "trilinear3d")), upsampled
)  # fmt: skip
RULES |= {
    "copy_": copy, "embedding": taken(1), "index_select": taken(2),
    "gather": taken(2), "index": indexed, "_unsafe_index": indexed,
}  # fmt: skip
