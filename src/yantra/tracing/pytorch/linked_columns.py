"""Operators and device ops of a linked file in the core's columns, made when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

import msgspec
import numpy as np
from msgspec import Raw, structs

from yantra import _core
from yantra.base.errors import ConfigError
from yantra.base.unpacking import open_unpacked
from yantra.tracing.pytorch.json_list import REFUSED, Header, InCore, read_list, texts_of
from yantra.tracing.pytorch.linked import Attr, CommArgs, DeviceOp, Linked, Operator
from yantra.tracing.pytorch.node_file import NODES

NONE = (1 << 32) - 1  # no place
_HOLE = "\0"  # of a number, in a layout
NO_TIME = _core.LinkedFile.NO_TIME
One = TypeVar("One", Operator, DeviceOp)


class Layout(NamedTuple):
    """Attributes that only differ in numbers. `holes`: which attributes those are."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    values: tuple[Any, ...]
    holes: tuple[int, ...]


def read(path: str) -> tuple[Header, Operators, DeviceOps] | None:
    """The header and the columns; None if the file is not as the linker writes it."""
    file = _core.LinkedFile()
    try:
        with open_unpacked(path) as text:
            header = read_list(text, NODES, InCore(file), lambda _: None)
    except (*REFUSED, OSError, ConfigError):
        return None
    if header is None or not file.finish():
        return None
    common = Common(file)
    return header, Operators(common), DeviceOps(common)


class Common:
    """Columns and what recurs in them."""

    def __init__(self, file: _core.LinkedFile) -> None:
        self.file = file
        self.columns = file.columns()
        self.names = texts_of(file.names())
        self.layouts = [_layout(layout) for layout in file.layouts()]
        self.tensors = [Raw(tensor) for tensor in file.tensors()]
        self.operator_comm = file.operator_comm()
        self.op_comm = file.op_comm()

    def attrs(self, at: int) -> list[Attr]:
        layout, values = self.filled(at)
        return [Attr(*one) for one in zip(layout.names, layout.types, values, strict=True)]

    def filled(self, at: int) -> tuple[Layout, list[Any]]:
        columns = self.columns
        layout = self.layouts[columns["operator.layout"][at]]
        values = list(layout.values)
        for hole, number in enumerate(layout.holes, start=columns["operator.first"][at]):
            values[number] = columns["operator.numbers"][hole]
        return layout, values


def _layout(json: bytes) -> Layout:
    holes = json.replace(_HOLE.encode(), b'{"hole":0,"":0}')
    attrs = msgspec.json.decode(holes, type=list[Attr])
    hole = {"hole": 0, "": 0}
    return Layout(
        tuple(attr.name for attr in attrs),
        tuple(attr.type for attr in attrs),
        tuple(attr.value for attr in attrs),
        tuple(place for place, attr in enumerate(attrs) if attr.value == hole),
    )


class OperatorRow:
    """As `Operator`."""

    __slots__ = ("_at", "_of")

    def __init__(self, of: Operators, at: int) -> None:
        self._of = of
        self._at = at

    id = property(lambda row: row._of.id[row._at])
    host_id = property(lambda row: row._of.host_id[row._at])
    name = property(lambda row: row._of.names[row._of.name[row._at]])
    tid = property(lambda row: row._of.tid[row._at])
    attrs = property(lambda row: row._of.common.attrs(row._at))
    inputs = property(lambda row: row._of.common.tensors[row._of.inputs[row._at]])
    outputs = property(lambda row: row._of.common.tensors[row._of.outputs[row._at]])
    dur_ns = property(lambda row: row._of.dur[row._at])
    exclusive_ns = property(lambda row: row._of.exclusive[row._at])
    comm = property(lambda row: _comm(row._of.common.operator_comm, row._at))

    @property
    def parent(self) -> int | None:
        at = self._of.parent[self._at]
        return None if at == NONE else self._of.id[at]

    @property
    def start_ns(self) -> int | None:
        start = self._of.start[self._at]
        return None if start == NO_TIME else start

    def attr(self, name: str, default: Any = None) -> Any:
        layout, values = self._of.common.filled(self._at)
        return values[layout.names.index(name)] if name in layout.names else default


class DeviceOpRow:
    """As `DeviceOp`."""

    __slots__ = ("_at", "_of")

    def __init__(self, of: DeviceOps, at: int) -> None:
        self._of = of
        self._at = at

    id = property(lambda row: row._of.id[row._at])
    name = property(lambda row: row._of.names[row._of.name[row._at]])
    cat = property(lambda row: row._of.names[row._of.cat[row._at]])
    device = property(lambda row: row._of.device[row._at])
    stream = property(lambda row: row._of.stream[row._at])
    start_ns = property(lambda row: row._of.start[row._at])
    dur_ns = property(lambda row: row._of.dur[row._at])
    end_ns = property(lambda row: row._of.start[row._at] + row._of.dur[row._at])
    correlation = property(lambda row: row._of.correlation[row._at])
    launch_tid = property(lambda row: row._launched(row._of.launch_tid))
    launch_start_ns = property(lambda row: row._launched(row._of.launch_start))
    launch_end_ns = property(lambda row: row._launched(row._of.launch_end))
    launch_name = property(lambda row: row._of.names[row._of.launch_name[row._at]])
    pg_name = property(lambda row: row._of.names[row._of.group[row._at]])
    comm = property(lambda row: _comm(row._of.common.op_comm, row._at))

    @property
    def parent(self) -> int | None:
        at = self._of.parent[self._at]
        return None if at == NONE else self._of.operator_id[at]

    @property
    def bytes(self) -> int | None:
        size = self._of.bytes[self._at]
        return None if size < 0 else size

    @property
    def after(self) -> list[int]:
        first = self._of.first
        return [self._of.id[at] for at in self._of.after[first[self._at] : first[self._at + 1]]]

    def _launched(self, column: memoryview) -> int | None:
        return column[self._at] if self._of.is_launched[self._at] else None


def _comm(known: dict[int, bytes], at: int) -> CommArgs | None:
    found = known.get(at)
    return None if found is None else msgspec.json.decode(found, type=CommArgs)


class _Rows(Sequence[Any]):
    """Rows of one kind; each column is an attribute."""

    row: ClassVar[Any]
    id: memoryview
    name: memoryview

    def __init__(self, common: Common, kind: str) -> None:
        self.common = common
        self.names = common.names
        for name, column in common.columns.items():
            if name.startswith(f"{kind}."):
                setattr(self, name.removeprefix(f"{kind}."), column)

    def __len__(self) -> int:
        return len(self.id)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self.row(self, one) for one in range(*at.indices(len(self)))]
        return self.row(self, range(len(self))[at])

    def __iter__(self) -> Iterator[Any]:
        row = self.row
        return (row(self, at) for at in range(len(self)))


class Operators(_Rows):
    row = OperatorRow
    host_id: memoryview
    tid: memoryview
    start: memoryview
    dur: memoryview
    exclusive: memoryview
    parent: memoryview
    name: memoryview
    inputs: memoryview
    outputs: memoryview

    def __init__(self, common: Common) -> None:
        super().__init__(common, "operator")
        parent = np.asarray(self.parent)
        above = (parent == NONE) | (parent < np.arange(len(parent)))
        self.nest = bool(above.all())  # each behind its parent, so none is below itself


class DeviceOps(_Rows):
    row = DeviceOpRow
    device: memoryview
    stream: memoryview
    start: memoryview
    dur: memoryview
    launch_tid: memoryview
    launch_start: memoryview
    launch_end: memoryview
    correlation: memoryview
    bytes: memoryview
    parent: memoryview
    name: memoryview
    cat: memoryview
    launch_name: memoryview
    group: memoryview
    after: memoryview
    first: memoryview
    is_launched: memoryview

    def __init__(self, common: Common) -> None:
        super().__init__(common, "op")
        self.operator_id = common.columns["operator.id"]


class _ById(Mapping[int, Operator]):
    def __init__(self, rows: Operators) -> None:
        ids = np.asarray(rows.id)
        places = np.full(int(ids[-1]) + 1 if len(ids) else 0, NONE, np.uint32)
        places[ids] = np.arange(len(ids), dtype=np.uint32)
        self._rows = rows
        self._places = memoryview(cast(Any, places))

    def get(self, id: Any, default: Any = None) -> Any:
        at = self._places[id] if 0 <= id < len(self._places) else NONE
        return default if at == NONE else OperatorRow(self._rows, at)

    def __getitem__(self, id: int) -> Operator:
        found = self.get(id)
        if found is None:
            raise KeyError(id)
        return cast("Operator", found)

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows.id)

    def __len__(self) -> int:
        return len(self._rows)


def by_id(operators: Sequence[Operator]) -> Mapping[int, Operator]:
    if isinstance(operators, Operators):
        return _ById(operators)
    return {operator.id: operator for operator in operators}


def names_of(rows: Sequence[Operator] | Sequence[DeviceOp]) -> set[str]:
    if isinstance(rows, _Rows):
        return {rows.names[at] for at in np.unique(np.asarray(rows.name)).tolist()}
    return {row.name for row in rows}


def as_objects(linked: Linked) -> Linked:
    """The trace with operators and device ops that may change."""
    if not isinstance(linked.operators, Operators):
        return linked
    return structs.replace(
        linked,
        operators=objects(linked.operators, Operator),
        device_ops=objects(linked.device_ops, DeviceOp),
    )


def objects(rows: Sequence[One], of: type[One]) -> list[One]:
    names = [field.name for field in structs.fields(of)]
    return [
        row if isinstance(row, of) else of(**{name: getattr(row, name) for name in names})
        for row in rows
    ]
