"""Which kernel does an operator's work: the main ones share it, helpers have bytes of their own.

An operator's kernels are those launched under it and under nothing inside it. Main are those
whose names are of the class that the operator's rule states, else all but changes of layout; of
them the ones with one name that take longest. So operations count once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from operator import attrgetter

from yantra.tracing.pytorch.linked import DeviceOp, Operator
from yantra.tracing.pytorch.tensors import decoded
from yantra.tracing.pytorch.work import attention, convolutions, lists, others, products, rows
from yantra.tracing.pytorch.work.kernel_names import class_of, dtype_of, product_type, width_of
from yantra.tracing.pytorch.work.law import Work
from yantra.tracing.pytorch.work.operands import Operands, operands

_ATEN = products.RULES | convolutions.RULES | others.RULES | rows.RULES | lists.RULES
_PRODUCTS = ("gemm", "conv")
_HELPERS = ("layout", "partial")
_MOST_KERNELS = 16
"""Names under one operator; more are a program's, as of a compiled graph."""
COUNTED = frozenset(
    f"aten::{name}"
    for name in (
        "mm", "bmm", "addmm", "_addmm_activation", "baddbmm", "cudnn_convolution",
        "cudnn_convolution_relu", "miopen_convolution", "mkldnn_convolution",
        "_slow_conv2d_forward", "_conv_depthwise2d", "slow_conv3d_forward",
    )
)  # fmt: skip
"""Operators on the CPU's side that carry operations, too: those that launch or compute themselves,
so that nothing counts twice there."""
_ALIKE = 1.25
"""How much longer or shorter a kernel of the same work may take."""


def work_of(given: Operands) -> Work | None:
    """What an operator does by its name and operands; None if they do not tell."""
    found = attention.RULES.get(given.name)
    if found is not None:
        return found(given)
    space, _, name = given.name.rpartition("::")
    if space != "aten":
        return others.fused(given)
    rule = _ATEN.get(name)
    if rule is not None:
        return rule(given)
    if name.startswith("_foreach_"):
        return lists.foreach(given)
    return others.elementwise(name, given)


class Works:
    """The work of operators, each distinct one derived once."""

    def __init__(self) -> None:
        # By the objects of the tensors, which operators of one shape share; they are held here.
        self._near: dict[tuple[str, int, int], tuple[Work | None, Operator]] = {}
        self._known: dict[tuple[str, bytes, bytes], Work | None] = {}
        self._parts: dict[tuple[int, str], tuple[Work, Work]] = {}

    def of(self, operator: Operator) -> Work | None:
        near = operator.name, id(operator.inputs), id(operator.outputs)
        found = self._near.get(near)
        if found is not None:
            return found[0]
        key = operator.name, bytes(operator.inputs), bytes(operator.outputs)
        if key not in self._known:
            given = operands(operator.name, decoded(operator.inputs), decoded(operator.outputs))
            self._known[key] = work_of(given)
        self._near[near] = self._known[key], operator
        return self._known[key]

    def alone(self, work: Work, name: str) -> Work:
        """The part of an operator's only kernel."""
        key = id(work), name
        if key not in self._parts:
            self._parts[key] = _part(work, name, 0, 1), work
        return self._parts[key][0]


def assigned(
    device_ops: Sequence[DeviceOp], operators: Mapping[int, Operator], works: Works
) -> dict[int, Work]:
    """The work of each kernel, copy and fill of known size, by its id."""
    found: dict[int, Work] = {}
    for op in device_ops:
        if op.cat != "kernel":
            found.update(_of_copy(op))
    for parent, kernels in _by_operator(device_ops):
        operator = operators.get(parent)
        if operator is None or _is_program(kernels):
            continue
        work = works.of(operator)
        if work is None:
            continue
        if len(kernels) == 1:
            found[kernels[0].id] = works.alone(work, kernels[0].name)
        else:
            found.update(_shared(work, kernels))
    found.update(_twins(device_ops, found))
    return found


def _by_operator(ops: Sequence[DeviceOp]) -> Iterator[tuple[int, list[DeviceOp]]]:
    """Kernels of each operator; in linked traces they follow one another."""
    if any(before > after for before, after in pairwise(_parents(ops))):
        ops = sorted(ops, key=lambda op: -1 if op.parent is None else op.parent)
    of_operators = (op for op in ops if op.cat == "kernel" and op.parent is not None)
    for parent, kernels in groupby(of_operators, attrgetter("parent")):
        yield parent, list(kernels)


def _parents(ops: Sequence[DeviceOp]) -> Iterator[int]:
    return (op.parent for op in ops if op.parent is not None)


def _is_program(kernels: Sequence[DeviceOp]) -> bool:
    return len(kernels) > _MOST_KERNELS and len({op.name for op in kernels}) > _MOST_KERNELS


def _twins(ops: Sequence[DeviceOp], found: Mapping[int, Work]) -> dict[int, Work]:
    """Kernels whose operator is not recorded or tells nothing, as those launched before the
    recording or by a graph, do what the kernel of their name does that took most nearly as long.
    """
    missing = {op.name for op in ops if op.cat == "kernel" and op.id not in found}
    kernels = [op for op in ops if op.cat == "kernel" and op.name in missing] if missing else []
    known: defaultdict[str, dict[Work, list[int]]] = defaultdict(lambda: defaultdict(list))
    for op in kernels:
        if op.id in found and op.dur_ns > 0:
            known[op.name][found[op.id]].append(op.dur_ns)
    medians = {
        name: [(sorted(times)[len(times) // 2], work) for work, times in some.items()]
        for name, some in known.items()
    }
    made = {}
    for op in kernels:
        if op.id in found or op.dur_ns <= 0 or op.name not in medians:
            continue
        apart, _, work = min(
            (max(op.dur_ns, took) / min(op.dur_ns, took), place, work)
            for place, (took, work) in enumerate(medians[op.name])
        )
        if apart <= _ALIKE:
            made[op.id] = work
    return made


def _of_copy(op: DeviceOp) -> dict[int, Work]:
    if op.bytes is None:
        return {}
    is_inside = op.cat == "gpu_memset" or "DtoD" in op.name
    kind = "copy" if is_inside else "host_copy"
    return {op.id: _copy(kind, op.bytes)}


@lru_cache(4096)  # few sizes, many copies
def _copy(kind: str, size: int) -> Work:
    return Work(kind, "", 0, size)


def _shared(work: Work, kernels: Sequence[DeviceOp]) -> dict[int, Work]:
    main = _main(work, kernels)
    shares = len(main)
    found = {}
    for place, op in enumerate(main):
        found[op.id] = _part(work, op.name, place, shares)
    rest = [op for op in kernels if op.id not in found]
    return found | _helpers(work, rest) if rest else found


def _main(work: Work, kernels: Sequence[DeviceOp]) -> list[DeviceOp]:
    alike = [op for op in kernels if class_of(op.name) == work.op_class]
    if not alike and work.op_class == "conv":
        alike = [op for op in kernels if class_of(op.name) == "gemm"]
    others_ = [op for op in kernels if class_of(op.name) not in _HELPERS]
    candidates = alike or others_ or list(kernels)
    if work.products > 1:
        ordered = sorted(candidates, key=lambda op: (-op.dur_ns, op.id))
        return sorted(ordered[: work.products], key=lambda op: op.id)
    total: Counter[str] = Counter()
    for op in candidates:
        total[op.name] += op.dur_ns
    longest = max(total, key=lambda name: total[name])
    return [op for op in candidates if op.name == longest]


def _part(work: Work, name: str, place: int, shares: int) -> Work:
    """A main kernel's share; what does not divide goes to the first ones."""
    width = 1
    dtype = work.dtype
    if not dtype and work.op_class in ("copy", "optimizer"):  # a list's type, by the kernel's name
        width, dtype = width_of(name) or 4, dtype_of(name)
    elif work.op_class in (*_PRODUCTS, "attention"):
        dtype = product_type(name, work.dtype)
    flops, moved = (
        amount // shares + (place < amount % shares) for amount in (work.flops, work.bytes * width)
    )
    own = class_of(name)
    kind = own if work.op_class == "elementwise" and own in _NAMED else work.op_class
    return work._replace(op_class=kind, dtype=dtype, flops=flops, bytes=moved)


_NAMED = ("gemm", "attention", "norm", "softmax")
"""Classes that a library's own kernel may have whose operator tells only bytes."""


def _helpers(work: Work, rest: Sequence[DeviceOp]) -> dict[int, Work]:
    found = {}
    operands_ = sorted(work.parts, reverse=True)
    changes = [op for op in rest if class_of(op.name) == "layout"]
    changes.sort(key=lambda op: (-op.dur_ns, op.id))
    for place, op in enumerate(changes if operands_ else ()):
        moved = 2 * operands_[min(place, len(operands_) - 1)]
        found[op.id] = Work("copy", work.dtype, 1, moved)
    for op in rest:
        if op.id in found:
            continue
        kind = class_of(op.name)
        if kind == "partial" and work.parts:
            found[op.id] = Work("reduction", work.dtype, 1, 2 * work.parts[-1])
        elif work.op_class in _PRODUCTS and kind in ("elementwise", "copy"):  # a bias, spread
            found[op.id] = Work("copy", work.dtype, 1, work.parts[-1])
        elif work.passes:
            found[op.id] = Work(work.op_class, work.dtype, 1, work.passes, work.phase)
    return found
