"""Norms, softmax and losses: a row's sums, then each of its elements.

Operations an element: softmax 5, layer, group and batch norm 7, RMS norm 4; gradients of norms
twice that. Source: native_functions.yaml for the places of operands.
"""

from __future__ import annotations

from math import prod

from yantra.tracing.pytorch.work.law import MOVES, Rule, Work
from yantra.tracing.pytorch.work.operands import Operands, Tensor


def softmax(given: Operands) -> Work | None:
    """Read once and written; its gradient reads gradient and result."""
    is_gradient = "backward" in given.name
    one = given.tensor(0)
    if one is None or not one.width or not one.shape:
        return None
    axis = given.whole(2 if is_gradient else 1)
    is_axis = axis is not None and -len(one.shape) <= axis < len(one.shape)
    columns = one.shape[axis if axis is not None and is_axis else -1]
    half_to_float = not is_gradient and one.width == 2 and given.is_true(2)
    written = one.elements * 4 if half_to_float else one.bytes
    moves = one.bytes * (1 + is_gradient) + written
    sizes = (("m", one.elements // max(columns, 1)),)
    phase = "dgrad" if is_gradient else ""
    return Work("softmax", one.dtype, 5 * one.elements, moves, phase, sizes)


def norm(each: int, *, rows: str) -> Rule:
    """`rows`: how many sums there are, by "last" axes, "channels" or "groups".

    Forward reads once and writes; a batch norm that trains reads once more for its sums. Backward
    reads gradient and input and writes one, and its sums read both once more.
    """

    def rule(given: Operands) -> Work | None:
        is_gradient = "backward" in given.name
        one = given.tensor(1 if is_gradient else 0)
        if one is None or not one.width or not one.shape:
            return None
        columns = _columns(given, one, 2 if is_gradient else 1) if rows == "last" else 0
        m = one.elements // columns if columns else 0
        sizes = (("m", m),) if m else ()
        small = sum(t.bytes for t in given.tensors() if t.elements < one.elements and t.width)
        again = one.bytes if rows != "last" and not is_gradient else 0
        moves = one.bytes * (3 if is_gradient else 2) + small
        return Work(
            "norm", one.dtype, each * one.elements * (1 + is_gradient), moves,
            "dgrad" if is_gradient else "", sizes, passes=2 * one.bytes if is_gradient else again,
        )  # fmt: skip

    return rule


def _columns(given: Operands, one: Tensor, place: int) -> int:
    shape = given.value(place)
    if isinstance(shape, list) and shape and all(type(size) is int and size > 0 for size in shape):
        return prod(shape)
    return one.shape[-1] or 1


def loss(given: Operands) -> Work | None:
    """`nll_loss`: a number and a target a row."""
    one, target = given.tensor(0), given.tensor(1)
    if "backward" in given.name:
        one, target = given.tensor(1), given.tensor(2)
        if one is None or target is None:
            return None
        rows = target.elements
        return Work("loss", one.dtype, max(rows, MOVES), target.bytes + rows * one.width)
    if one is None or target is None:
        return None
    rows = target.elements
    moves = target.bytes + rows * one.width + 2 * one.width
    return Work("loss", one.dtype, max(rows, MOVES), moves)


_NORMS = {
    "native_layer_norm": norm(7, rows="last"),
    "_fused_rms_norm": norm(4, rows="last"),
    "rms_norm": norm(4, rows="last"),
    "native_batch_norm": norm(7, rows="channels"),
    "_native_batch_norm_legit": norm(7, rows="channels"),
    "_batch_norm_with_update": norm(7, rows="channels"),
    "cudnn_batch_norm": norm(7, rows="channels"),
    "miopen_batch_norm": norm(7, rows="channels"),
    "batch_norm_elemt": norm(7, rows="channels"),
    "native_group_norm": norm(7, rows="groups"),
}
RULES: dict[str, Rule] = _NORMS | {f"{name}_backward": rule for name, rule in _NORMS.items()}
RULES |= {"batch_norm_backward_elemt": _NORMS["batch_norm_elemt"]}
RULES |= dict.fromkeys(("_softmax", "_log_softmax", "_safe_softmax", "_softmax_backward_data",
                        "_log_softmax_backward_data"), softmax)  # fmt: skip
RULES |= dict.fromkeys(("nll_loss_forward", "nll_loss2d_forward", "nll_loss_backward",
                        "nll_loss2d_backward"), loss)  # fmt: skip
