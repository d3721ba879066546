"""A product of dimensions as one graph: each row of each dimension has links of its own.

Memory is proportional to links.

Source: Won et al., ASTRA-sim2.0, ISPASS 2023, section IV-B.
"""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np

from yantra.base.fields import OneOrMany, Section, Text
from yantra.base.records import Record
from yantra.fabric.graphs.builder import BANDWIDTH, LATENCY, Builder, Linked, Size
from yantra.fabric.graphs.draft import Draft, Speed
from yantra.fabric.graphs.graph import Graph
from yantra.fabric.graphs.grid import points, strides
from yantra.fabric.graphs.notation import parse
from yantra.fabric.topologies import find, topologies


class Options(Record):
    dimensions: str
    bytes_per_ns: tuple[float, ...]
    latency_ns: tuple[float, ...]


class Product(Builder):
    """The first dimension varies fastest with the rank."""

    options = Section(
        Options,
        {
            "dimensions": ("dimensions", Text(), "such as R(4)_FC(8)_SW(32), innermost first"),
            "bandwidth": (
                "bytes_per_ns",
                OneOrMany(BANDWIDTH),
                "of links: one, or one for each dimension",
            ),
            "latency": (
                "latency_ns",
                OneOrMany(LATENCY),
                "of links: one, or one for each dimension",
            ),
        },
    )
    example: ClassVar = {
        "dimensions": "R(4)_FC(2)_SW(4)",
        "bandwidth": ["200 GB/s", "100 GB/s", "50 GB/s"],
        "latency": ["50 ns", "500 ns", "2000 ns"],
    }

    def refuses(self) -> tuple[str, str] | None:
        count = len(self._parts)
        for key, values in (
            ("bandwidth", self.given.bytes_per_ns),
            ("latency", self.given.latency_ns),
        ):
            if len(values) not in (1, count):
                problem = f"expected one, or one for each of the {count} dimensions"
                return key, f"{problem}, got {len(values)}"
        for name, size in self._parts:
            reason = find(name, "dimensions").supports(size)
            if reason is not None:
                return "dimensions", f"{topologies.shown(name)} {reason}"
        return None

    def dimensions(self) -> tuple[Linked, ...]:
        return tuple(
            Linked(
                name,
                size,
                _of_each(self.given.bytes_per_ns, at),
                _of_each(self.given.latency_ns, at),
            )
            for at, (name, size) in enumerate(self._parts)
        )

    def size(self) -> Size:
        ranks = prod(size for _, size in self._parts)
        devices, links = ranks, 0
        for name, size in self._parts:
            switches, count = _counts(name, size)
            devices += ranks // size * switches
            links += ranks // size * count
        return Size(ranks, devices, links)

    def graph(self) -> Graph:
        sizes = tuple(size for _, size in self._parts)
        grid = points(sizes)
        draft = Draft(len(grid))
        coordinates = [grid]
        for at, (name, size) in enumerate(self._parts):
            block = find(name)
            # Each row's ranks, then switches.
            rows = draft.ranks[grid[:, at] == 0][:, None]
            members: Any = rows + np.arange(size, dtype=np.uint32) * strides(sizes)[at]
            count = block.switches(size)
            if count:
                own = draft.switches(f"dimension {at} switch", len(rows) * count)
                members = np.hstack([members, own.reshape(-1, count)])
                of_row = np.repeat(grid[rows[:, 0]], count, axis=0)
                of_row[:, at] = -1
                coordinates.append(of_row)
            start, end = np.array(list(block.links(size)), np.int64).T
            speed = Speed(
                _of_each(self.given.bytes_per_ns, at), _of_each(self.given.latency_ns, at)
            )
            draft.links(members[:, start], members[:, end], speed, f"dimension {at}")
        return draft.graph(np.concatenate(coordinates))

    @cached_property
    def _parts(self) -> tuple[tuple[str, int], ...]:
        return parse(self.given.dimensions, "dimensions")


def _of_each(values: tuple[float, ...], dimension: int) -> float:
    return values[0] if len(values) == 1 else values[dimension]


def _counts(name: str, size: int) -> tuple[int, int]:
    if name == "fully_connected":
        return 0, size * (size - 1)
    block = find(name)
    return block.switches(size), sum(1 for _ in block.links(size))


PLUGIN = Product
