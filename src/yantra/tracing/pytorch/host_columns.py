"""Nodes of a host trace in columns, objects when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Raw

from yantra.base.errors import TraceError
from yantra.tracing.pytorch.event_columns import Column, distinct
from yantra.tracing.pytorch.host_nodes import HostNode
from yantra.tracing.pytorch.linked import Attr

HOLE = b"\0"
"""Stands for a whole number in the JSON of attributes that only differ in those."""

_NUMBERS = ("id", "parent", "rf_id", "tid", "fw_tid", "seq_id", "scope")
_PLACES = ("name", "layout", "inputs", "outputs")
_LARGEST = 1 << 63


class Nodes(Sequence[HostNode]):
    """By id. `name` is a place in `names`, `layout` in `layouts`, `inputs` and `outputs` in
    `tensors`; the numbers in a node's layout are in `numbers` from `first` on.
    """

    id: Column
    parent: Column
    rf_id: Column
    tid: Column
    fw_tid: Column
    seq_id: Column
    scope: Column
    name: Column
    layout: Column
    inputs: Column
    outputs: Column

    def __init__(
        self,
        columns: Mapping[str, Any],
        names: list[str],
        layouts: list[bytes],
        tensors: list[bytes],
    ) -> None:
        self.names = names
        self.layouts = layouts
        self.tensors = tensors
        for name in (*_NUMBERS, *_PLACES):
            setattr(self, name, np.asarray(columns[name]))
        self.numbers: Column = np.asarray(columns["numbers"])
        self.first: Column = np.asarray(columns["first"])
        self.holes = np.array([layout.count(HOLE) for layout in layouts], np.uint32)

    @classmethod
    def of(cls, nodes: Sequence[HostNode], where: str = "link") -> Nodes:
        """Columns of objects, by id. Raises TraceError for numbers of more than 64 bits."""
        try:
            return nodes if isinstance(nodes, Nodes) else _of_objects(nodes)
        except OverflowError:
            raise TraceError(
                f"{where}: a node has a number of more than 64 bits; expected what PyTorch's "
                "observer writes: record again, or leave that node out"
            ) from None

    def __len__(self) -> int:
        return len(self.id)

    def __iter__(self) -> Iterator[HostNode]:
        return (self[at] for at in range(len(self)))

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        row = range(len(self))[at]
        numbers = {name: int(getattr(self, name)[row]) for name in _NUMBERS}
        return HostNode(
            name=self.names[self.name[row]],
            attrs=self._attrs(row),
            inputs=Raw(self.tensors[self.inputs[row]]),
            outputs=Raw(self.tensors[self.outputs[row]]),
            **numbers,
        )

    def _attrs(self, row: int) -> list[Attr]:
        pieces = self.layouts[self.layout[row]].split(HOLE)
        first = self.first[row]
        numbers = self.numbers[first : first + len(pieces) - 1].tolist()
        text = pieces[0] + b"".join(
            b"%d%b" % (number, piece) for number, piece in zip(numbers, pieces[1:], strict=True)
        )
        return msgspec.json.decode(text, type=list[Attr])


def layout_of(attrs: Sequence[Attr]) -> tuple[bytes, list[int]]:
    """JSON with holes, and what is in them."""
    numbers = [attr.value for attr in attrs if _is_whole(attr.value)]
    hole = Raw(HOLE)
    said = [
        Attr(attr.name, attr.type, hole if _is_whole(attr.value) else attr.value) for attr in attrs
    ]
    return msgspec.json.encode(said), numbers


def said_again(layout: bytes) -> bytes:
    """JSON with holes as msgspec writes it."""
    marked = layout.replace(HOLE, b'{"hole":0,"":0}')
    attrs = msgspec.json.decode(marked, type=list[Attr])
    hole = {"hole": 0, "": 0}
    for attr in attrs:
        if attr.value == hole:
            attr.value = Raw(HOLE)
    return msgspec.json.encode(attrs)


def _is_whole(value: Any) -> bool:
    return type(value) is int and -_LARGEST < value < _LARGEST


def _of_objects(nodes: Sequence[HostNode]) -> Nodes:
    found = [layout_of(node.attrs) for node in nodes]
    columns: dict[str, Any] = {
        name: np.array([getattr(node, name) for node in nodes], np.int64) for name in _NUMBERS
    }
    places = np.arange(len(nodes), dtype=np.uint32)
    names, columns["name"] = distinct([node.name for node in nodes], places)
    layouts, columns["layout"] = distinct([layout for layout, _ in found], places)
    io = [bytes(one) for node in nodes for one in (node.inputs, node.outputs)]
    tensors, both = distinct(io, np.arange(len(io), dtype=np.uint32))
    columns["inputs"], columns["outputs"] = both[::2].copy(), both[1::2].copy()
    counts = np.array([len(numbers) for _, numbers in found], np.uint64)
    columns["first"] = np.cumsum(counts, dtype=np.uint64) - counts
    columns["numbers"] = np.array([one for _, some in found for one in some], np.int64)
    return Nodes(columns, names, layouts, tensors)
