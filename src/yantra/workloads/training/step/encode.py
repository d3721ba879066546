"""Operations of a pass -> blocks of Chakra nodes that are encoded once and copied many times.

Within a block, control dependencies chain the computations of the device and the collectives of
each communicator in program order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from yantra.chakra import Attribute, Kind, NodeType, Trace
from yantra.chakra.blocks import Attributes, BlockBuilder, Row
from yantra.workloads.operators.operations import Operation
from yantra.workloads.training.step.draft import LOAD, STORE, Item, Source
from yantra.workloads.training.step.turns import Part

_COSTS = slice(Operation._fields.index("tensor_flops"), Operation._fields.index("saves"))


class Inner(NamedTuple):
    """A dependency of a position on one in an earlier segment of the same pass."""

    position: int
    segment: int
    earlier: int
    is_control: bool


class Outer(NamedTuple):
    """A dependency of a position on an operation of another pass, by its key."""

    position: int
    source: Source
    key: int
    is_control: bool


class Chain(NamedTuple):
    """The first and the last collective of a communicator in a segment."""

    group: str
    first: int
    last: int


class Segment(NamedTuple):
    """Nodes that stand together in the file, and what ties them to those before.

    `first_compute` and `last_compute` are positions, None without a computation; `starts` are the
    positions that wait for all that was computed before.
    """

    block: Trace
    first_compute: int | None
    last_compute: int | None
    chains: tuple[Chain, ...]
    starts: tuple[int, ...]
    inner: tuple[Inner, ...]
    outer: tuple[Outer, ...]


class Encoded(NamedTuple):
    """A pass in segments; `place` gives the segment and the position of each key."""

    segments: tuple[Segment, ...]
    place: dict[int, tuple[int, int]]


Known = dict[tuple[int, int | None], tuple[Operation, int, Attributes]]
"""Types of nodes and their attributes, by operation and chunk: passes of a chunk have the same."""


def encode(parts: Sequence[Part], chunk: int | None, known: Known | None = None) -> Encoded:
    """Encode a pass, each of its parts as a segment; `chunk` is None behind all passes."""
    nodes: Known = {} if known is None else known
    place: dict[int, tuple[int, int]] = {}
    segments: list[Segment] = []
    for part in parts:
        for position, item in enumerate(part):
            place[item.key] = (len(segments), position)
        segments.append(_segment(part, place, len(segments), chunk, nodes))
    return Encoded(tuple(segments), place)


class _Chains:
    """The last computation and the last collective of each communicator so far, in a segment."""

    def __init__(self) -> None:
        self.compute: int | None = None
        self.first_compute: int | None = None
        self.groups: dict[str, Chain] = {}

    def predecessor(self, item: Item, position: int) -> int | None:
        """Return what an item follows on its chain, and move the chain on."""
        before: int | None = None
        if item.computes:
            before, self.compute = self.compute, position
            if before is None:
                self.first_compute = position
        elif item.operation.collective is not None:
            group = item.operation.group
            chain = self.groups.get(group, Chain(group, position, position))
            before = chain.last if chain.last != position else None
            self.groups[group] = chain._replace(last=position)
        return before


def _segment(
    items: Sequence[Item],
    place: dict[int, tuple[int, int]],
    number: int,
    chunk: int | None,
    known: Known,
) -> Segment:
    chains = _Chains()
    inner: list[Inner] = []
    outer: list[Outer] = []
    starts: list[int] = []
    block = BlockBuilder()
    for position, item in enumerate(items):
        data: list[int] = []
        control: list[int] = []
        for key, is_control, source in item.waits:
            if source:
                outer.append(Outer(position, source, key, is_control))
                continue
            segment, earlier = place[key]
            if segment == number:
                (control if is_control else data).append(earlier)
            else:
                inner.append(Inner(position, segment, earlier, is_control))
        computed = chains.compute
        before = chains.predecessor(item, position)
        if before is not None and before not in data and before not in control:
            control.append(before)
        if item.starts or item.at_end:
            if computed is None:
                starts.append(position)
            elif computed not in data and computed not in control:
                control.append(computed)
        _add(block, item.operation, data, control, chunk, known)
    return Segment(
        block.build(),
        chains.first_compute,
        chains.compute,
        tuple(chains.groups.values()),
        tuple(starts),
        tuple(inner),
        tuple(outer),
    )


def _add(
    block: BlockBuilder,
    operation: Operation,
    data: list[int],
    control: list[int],
    chunk: int | None,
    known: Known,
) -> None:
    """Add a node. Checks are made once for operations that cost the same, not for each of them."""
    key = (id(operation), chunk)
    found = known.get(key)
    if found is None:
        kind, costs = _costs(operation.kind, operation[_COSTS])
        place = (operation.phase, operation.unit, chunk, operation.saves, operation.frees)
        # An operation that is kept keeps its id.
        found = known[key] = (operation, kind, costs.with_others(_common(*place)))
    if operation.peer:
        block.message(operation.size_bytes, operation.tag)
    block.node(operation.name, found[1], found[2], data, control)


@lru_cache(maxsize=4096)
def _costs(kind: str, numbers: tuple[Any, ...]) -> tuple[int, Attributes]:
    """Return the type of a node and what it costs; most layers have the same operations."""
    operation = Operation("", kind, "forward", "", (), *numbers)
    attributes: Sequence[Row]
    if operation.collective is not None:
        type, attributes = NodeType.COMM_COLL, _collective(operation)
    elif operation.peer:
        type = NodeType.COMM_SEND if kind == "send" else NodeType.COMM_RECV
        Attribute("comm_tag", operation.tag, Kind.INT32)  # checked, and added by itself
        attributes = [("comm_peer", operation.peer, Kind.STRING), _ON_DEVICE]
    elif kind in (LOAD, STORE):
        type = NodeType.MEM_LOAD if kind == LOAD else NodeType.MEM_STORE
        attributes = [("tensor_size", operation.size_bytes, Kind.UINT64), _ON_DEVICE]
    else:
        type, attributes = NodeType.COMP, _computation(operation)
    return int(type), Attributes.of(attributes)


def _computation(operation: Operation) -> list[Row]:
    moved = operation.bytes_read + operation.bytes_written
    flops = operation.tensor_flops + operation.vector_flops
    attributes: list[Row] = [
        ("num_ops", max(flops, 1), Kind.INT64),  # a kernel of none never ends upstream
        ("tensor_size", max(moved, 1), Kind.UINT64),  # one of no bytes is skipped
        _ON_DEVICE,
        ("bytes_read", operation.bytes_read, Kind.INT64),
        ("bytes_written", operation.bytes_written, Kind.INT64),
        ("flops_tensor", operation.tensor_flops, Kind.INT64),
        ("flops_vector", operation.vector_flops, Kind.INT64),
        ("op_class", operation.kind, Kind.STRING),
        ("dtype", operation.dtype, Kind.STRING),
    ]
    if operation.repeated_flops:
        attributes.append(("flops_repeated", operation.repeated_flops, Kind.INT64))
    if operation.shape:
        names = ("batch", "m", "n", "k")[-len(operation.shape) :]
        attributes += [
            (name, size, Kind.INT64) for name, size in zip(names, operation.shape, strict=True)
        ]
    attributes += [(name, size, Kind.INT64) for name, size in operation.sizes if size]
    return attributes


def _collective(operation: Operation) -> list[Row]:
    return [
        ("comm_type", int(operation.collective or 0), Kind.INT64),
        ("comm_size", operation.size_bytes, Kind.INT64),
        ("pg_name", operation.group, Kind.STRING),
        _ON_DEVICE,
    ]


@lru_cache(maxsize=1024)
def _common(phase: str, unit: str, chunk: int | None, saves: int, frees: int) -> Attributes:
    """Return what nodes of a kind of operation in a layer have in common."""
    attributes: list[Row] = [("phase", phase, Kind.STRING)]
    if unit:
        attributes.append(("layer", unit, Kind.STRING))
    if chunk is not None:
        attributes.append(("microbatch", 0, Kind.INT64))
        attributes.append(("chunk", chunk, Kind.INT64))
    if saves:
        attributes.append(("act_alloc", saves, Kind.INT64))
    if frees:
        attributes.append(("act_free", frees, Kind.INT64))
    return Attributes.of(attributes)


_ON_DEVICE: Row = ("is_cpu_op", False, Kind.BOOL)
