"""What the nodes of a replay graph say beyond their times: attributes, tensors, work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from msgspec import Raw

from yantra import _core
from yantra.chakra.schema import Kind, NodeType
from yantra.tracing.pytorch.communication import Communication
from yantra.tracing.pytorch.cpu_collectives import NETWORK
from yantra.tracing.pytorch.graph import Columns
from yantra.tracing.pytorch.linked import DeviceOp, Linked, Operator
from yantra.tracing.pytorch.linked_columns import NO_TIME, Layout, Operators, by_id, objects
from yantra.tracing.pytorch.tensors import decoded
from yantra.tracing.pytorch.work.assign import COUNTED, Works
from yantra.tracing.pytorch.work.kernel_names import dtype_of, sort_of
from yantra.tracing.pytorch.work.law import Work

UNKNOWN = "other"
"""Class of a kernel whose operator and name tell none."""
NUMBERS = ("rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid")
"""Attributes that nodes take from the host's trace."""
_LABELS = ("op_class", "dtype", "phase")
_INT64 = 1 << 63
_UINT64 = 1 << 64


class Form(NamedTuple):
    names: tuple[str, ...]
    kinds: bytes


def form(*parts: tuple[Kind, tuple[str, ...]]) -> Form:
    names = tuple(name for _, some in parts for name in some)
    return Form(names, bytes(kind for kind, some in parts for _ in some))


class Facts:
    """Of one linked trace. `items`: what communicates; `work`: of device ops; `kept`: kinds of
    communicating ones that are written as computations.

    `device_ops`, `operators`: those that Python writes, and those around them.
    """

    def __init__(
        self,
        linked: Linked,
        columns: Columns,
        items: Iterable[Communication],
        work: Mapping[int, Work],
        kept: Mapping[int, str],
        memory_nodes: bool,
    ) -> None:
        ops = linked.device_ops
        sized = {item.op for item in items}
        self.kept = kept
        own = objects([op for op in ops if op.id in sized or self._is_odd(op)], DeviceOp)
        self.device_ops = {op.id: op for op in own}
        known = by_id(linked.operators)
        around = {op.parent for op in own}
        above = [known[id] for id in around if id is not None and id in known]
        self.operators = {one.id: one for one in objects(above, Operator)}
        self.core = _core.ReplayFacts(columns.arrays, columns.names)
        self._places = {op.id: place for place, op in enumerate(ops) if op.id in sized}
        self._work = {op: work[op] for op in self.device_ops if op in work}
        self._sizes: dict[tuple[Work | None, str], tuple[Form, tuple[Any, ...]]] = {}
        if isinstance(linked.operators, Operators):
            self._read_operators(linked.operators)
        else:
            self._add_operators(linked.operators)
        self._add_device_ops(ops, work, memory_nodes)

    def take(self, items: Iterable[Communication]) -> None:
        """Say which device ops a rank's communication becomes."""
        parts: defaultdict[int, list[NodeType]] = defaultdict(list)
        for item in items:
            if item.type is not NodeType.COMP:
                parts[item.op].append(item.type)
        for op, types in parts.items():
            self.core.becomes(self._places[op], types[-1], len(types))

    def amounts(self, op: DeviceOp) -> tuple[int | None, int | None]:
        """Operations and bytes of a device op."""
        return _amounts(self._work.get(op.id), op)

    def sizes(self, op: DeviceOp) -> tuple[tuple[str, ...], bytes, tuple[Any, ...]]:
        """What models of compute read: a class, known or by the name, and sizes."""
        return self._sizes_of(self._work.get(op.id), op.name)

    def _sizes_of(
        self, work: Work | None, kernel: str
    ) -> tuple[tuple[str, ...], bytes, tuple[Any, ...]]:
        key = work, "" if work is not None else kernel
        if key not in self._sizes:
            self._sizes[key] = _sizes(work, kernel)
        made, values = self._sizes[key]
        return *made, values

    def _add_operators(self, operators: Iterable[Operator]) -> None:
        core, works = self.core, Works()
        for operator in operators:
            work = works.of(operator) if operator.name in COUNTED else None
            flops = None if work is None else _whole(work.flops)
            core.operator(operator.attrs, flops, "process_group:init" in operator.name)
            if not core.tensors(False, operator.inputs):
                core.tensor_texts(False, *shown(operator.inputs))
            if not core.tensors(True, operator.outputs):
                core.tensor_texts(True, *shown(operator.outputs))

    def _read_operators(self, operators: Operators) -> None:
        common, core, works = operators.common, self.core, Works()
        tensors = []
        for raw in common.tensors:
            place = core.tensor(bytes(raw))
            tensors.append(core.tensor_of(*shown(raw)) if place is None else place)
        flops = np.full(len(operators), NO_TIME)
        counted = np.array([name in COUNTED for name in common.names])
        for at in np.flatnonzero(counted[np.asarray(operators.name)]).tolist():
            work = works.of(operators[at])
            number = None if work is None else _whole(work.flops)
            if number is not None:
                flops[at] = number
        _core.read_operators(
            core,
            common.file,
            [_host_form(layout) for layout in common.layouts],
            np.array(tensors, np.uint32),
            flops,
            np.array(["process_group:init" in name for name in common.names], np.uint8),
        )

    def _add_device_ops(
        self, ops: Iterable[DeviceOp], works: Mapping[int, Work], memory_nodes: bool
    ) -> None:
        forms: dict[tuple[Work | None, str], int] = {}
        for op in ops:
            work = works.get(op.id)
            key = work, "" if work is not None else op.name
            if key not in forms:
                forms[key] = self.core.form(*self._sizes_of(work, op.name))
            flops, size = _amounts(work, op)
            if size is not None and not 0 <= size < _UINT64:
                size = None
            type = type_of(op, memory_nodes)
            self.core.device_op(_whole(flops) or 0, size, forms[key], type, self._is_odd(op))

    def _is_odd(self, op: DeviceOp) -> bool:
        usual = 0 <= op.device < NETWORK and _whole(op.correlation) is not None
        return not usual or op.id in self.kept


def _host_form(layout: Layout) -> tuple[str | None, bytes]:
    """The schema, and each number's place among those of the host; a name's last one counts."""
    last = {name: at for at, name in enumerate(layout.names)}
    schema = layout.values[last["op_schema"]] if "op_schema" in last else ""
    places = [
        NUMBERS.index(name) if name in NUMBERS and last[name] == at else len(NUMBERS)
        for at in layout.holes
        for name in (layout.names[at],)
    ]
    return (schema if type(schema) is str else None), bytes(places)


def _amounts(work: Work | None, op: DeviceOp) -> tuple[int | None, int | None]:
    return (None, op.bytes) if work is None else (work.flops, work.bytes)


def type_of(op: DeviceOp, memory_nodes: bool) -> NodeType:
    if memory_nodes and op.cat == "gpu_memcpy" and op.bytes is not None:
        if "HtoD" in op.name:
            return NodeType.MEM_LOAD
        if "DtoH" in op.name:
            return NodeType.MEM_STORE
    return NodeType.COMP


def shown(raw: Raw) -> tuple[str, str, str]:
    io = decoded(raw)
    return (
        str(io.values) if io.values else "[]",
        str(io.shapes) if io.shapes else "[]",
        str(io.types) if io.types else "[]",
    )


def _sizes(work: Work | None, kernel: str) -> tuple[Form, tuple[Any, ...]]:
    labels = (
        (sort_of(kernel) or UNKNOWN, dtype_of(kernel), "")
        if work is None
        else (work.op_class, work.dtype, work.phase)
    )
    said = [(name, value) for name, value in zip(_LABELS, labels, strict=True) if value]
    sizes = () if work is None else [one for one in work.sizes if _whole(one[1]) is not None]
    made = form(
        (Kind.STRING, tuple(name for name, _ in said)),
        (Kind.INT64, tuple(name for name, _ in sizes)),
    )
    return made, (*(value for _, value in said), *(size for _, size in sizes))


def _whole(number: int | None) -> int | None:
    """The number if it fits 64 bits."""
    return number if number is not None and -_INT64 <= number < _INT64 else None
