"""Groups of devices, in the five ways that XLA writes them.

Source: openxla/xla, `ReplicaGroup`, `IotaReplicaGroupListProto`, `MeshAxesReplicaGroupListProto`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from yantra.base.wire import Span, fields, numbers

Groups = list[list[int]]
Written = dict[int, list[Span]]
"""Fields of an instruction with groups or pairs, by number."""

LIST, PAIRS, COLLECTIVE, IOTA, MESH = 49, 52, 87, 92, 93
FIELDS = frozenset({LIST, PAIRS, COLLECTIVE, IOTA, MESH})
MOST = 1 << 22
"""Devices of a program at most."""


def read(data: bytes, written: Written) -> tuple[Groups, str]:
    """The groups and how they are written: "list", "iota", "mesh" or "" for none.

    Raises ValueError for axes or sizes that cannot be.
    """
    for span in written.get(MESH, ()):
        return _mesh(data, *span), "mesh"
    for span in written.get(IOTA, ()):
        return _iota(data, *span), "iota"
    for begin, end in written.get(COLLECTIVE, ()):
        inner: list[Span] = []
        for number, value, stop in fields(data, begin, end):
            if number == 2:
                return _iota(data, value, stop), "iota"
            if number == 1:
                inner.append((value, stop))
        return [_ids(data, *span) for span in inner], "list"
    if LIST in written:
        return [_ids(data, *span) for span in written[LIST]], "list"
    return [], ""


def pairs(data: bytes, written: Written) -> list[tuple[int, int]]:
    """Sources and targets of a permute; zeros are absent in the file."""
    found = []
    for span in written.get(PAIRS, ()):
        ends = {number: value for number, value, _ in fields(data, *span)}
        found.append((ends.get(1, 0), ends.get(2, 0)))
    return found


def _ids(data: bytes, begin: int, end: int) -> list[int]:
    found = fields(data, begin, end)
    return [id for number, *span in found if number == 1 for id in numbers(data, *span)]


def _iota(data: bytes, begin: int, end: int) -> Groups:
    lists: dict[int, list[int]] = {1: [], 2: [], 3: [], 4: []}
    for number, value, stop in fields(data, begin, end):
        lists.setdefault(number, []).extend(numbers(data, value, stop))
    sizes, turned = lists[3], lists[4] or list(range(len(lists[3])))
    count, size = (lists[1] or [1])[0], (lists[2] or [1])[0]
    if sorted(turned) != list(range(len(sizes))) or count * size != prod(sizes) or size < 1:
        raise ValueError(f"groups [{count},{size}] of {sizes} turned by {turned}")
    ids = _turned(sizes, turned)
    return [ids[at : at + size] for at in range(0, len(ids), size)]


def _turned(sizes: Sequence[int], axes: Sequence[int]) -> list[int]:
    """arange(n), shaped to `sizes` and transposed by `axes`, flat."""
    if prod(sizes) > MOST:
        raise ValueError(f"groups of {prod(sizes)} devices")
    strides = [prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    places = product(*(range(sizes[axis]) for axis in axes))
    return [
        sum(at * strides[axis] for at, axis in zip(place, axes, strict=True)) for place in places
    ]


def _mesh(data: bytes, begin: int, end: int) -> Groups:
    sizes: list[int] = []
    devices: list[int] = []
    axes: list[int] = []
    parts: dict[int, tuple[int, int]] = {}
    for number, value, stop in fields(data, begin, end):
        if number == 1:
            for inner, at, until in fields(data, value, stop):
                if inner == 1:
                    axis = {n: v for n, v, e in fields(data, at, until) if e < 0}
                    sizes.append(axis.get(2, 1))
                elif inner == 2:
                    devices += numbers(data, at, until)
        elif number == 2:
            axis_number, part = _axis(data, value, stop)
            axes.append(axis_number)
            if part:
                parts[axis_number] = part
    return _groups_of_mesh(sizes, devices, axes, parts)


def _axis(data: bytes, begin: int, end: int) -> tuple[int, tuple[int, int] | None]:
    index, part = 0, None
    for number, value, stop in fields(data, begin, end):
        if number == 1:
            index = value
        elif number == 2 and stop >= 0:
            sizes = {n: v for n, v, _ in fields(data, value, stop)}
            part = sizes.get(1, 1), sizes.get(2, 1)
    return index, part


def _groups_of_mesh(
    sizes: list[int], devices: list[int], axes: list[int], parts: dict[int, tuple[int, int]]
) -> Groups:
    """A group runs over `axes`; a part (before, size) of an axis cuts it in three."""
    shape: list[int] = []
    chosen: list[int] = []
    for axis, size in enumerate(sizes):
        before, inner = parts.get(axis, (1, size))
        if before < 1 or inner < 1 or size % (before * inner):
            raise ValueError(f"part {before}:{inner} of a mesh axis of {size}")
        if axis in axes:
            chosen.append(len(shape) + 1)
        shape += [before, inner, size // (before * inner)]
    if any(axis >= len(sizes) for axis in axes):
        raise ValueError(f"mesh axes {axes} of {len(sizes)}")
    order = {axis: at for at, axis in enumerate(sorted(set(axes)))}
    inside = [chosen[order[axis]] for axis in axes]
    others = [axis for axis in range(len(shape)) if axis not in inside]
    ids = _turned(shape, [*others, *inside])
    if devices:
        if len(devices) != len(ids):
            raise ValueError(f"{len(devices)} devices in a mesh of {len(ids)}")
        ids = [devices[id] for id in ids]
    size = prod(shape[axis] for axis in inside)
    return [ids[at : at + size] for at in range(0, len(ids), size)]
