"""When links change rate, fail or return, from a file.

    at_ns,from,to,bandwidth
    30000,leaf 0,spine 1,0 GB/s
    80000,leaf 0,spine 1,50 GB/s

A row is for links one way; `0 GB/s` is down. Any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from yantra.base.documents import read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got, show
from yantra.base.fields import Quantity
from yantra.base.rows import csv_rows
from yantra.base.whole_numbers import whole
from yantra.fabric.graphs.graph import Graph

_COLUMNS = ("at_ns", "from", "to", "bandwidth")
_RATE = Quantity("bandwidth", "GB/s", at_least=0)


class LinkChange(NamedTuple):
    """A link's rate from a time on."""

    at_ns: float
    link: int
    bytes_per_ns: float


def read(path: str, graph: Graph) -> list[LinkChange]:
    """Read changes: CSV with at_ns, from, to and bandwidth.

    All links between the two devices change. Raises ConfigError with line and column.
    """
    header, rows = table_of(path, _COLUMNS)
    devices = {graph.name_of(at): at for at in range(graph.devices)}
    devices |= {str(rank): rank for rank in range(graph.ranks)}
    changes: list[LinkChange] = []
    for line, row in rows:
        cells = dict(zip(header, (cell.strip() for cell in row), strict=True))
        where = f"{path}, line {line}"
        ends = []
        for end in ("from", "to"):
            if cells[end] not in devices:
                hint = did_you_mean(cells[end], devices)
                raise ConfigError(f"{where}, {end}", f"no device is called {cells[end]!r}{hint}")
            ends.append(devices[cells[end]])
        links = np.flatnonzero((graph.links.start == ends[0]) & (graph.links.end == ends[1]))
        if not len(links):
            raise ConfigError(where, f"no link leads from {cells['from']} to {cells['to']}")
        at_ns = whole(cells["at_ns"])
        if at_ns is None:
            problem = expected_got("a whole number, 0 or more", cells["at_ns"])
            raise ConfigError(f"{where}, at_ns", problem)
        text = cells["bandwidth"].strip()
        rate = 0.0 if text == "0" else _RATE.read(text, f"{where}, bandwidth", "")
        changes += [LinkChange(at_ns, int(link), rate) for link in links]
    return sorted(changes, key=lambda change: change.at_ns)


def table_of(
    path: str, known: tuple[str, ...], optional: tuple[str, ...] = ()
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    rows = csv_rows(read_text(path), path)
    header = [cell.strip() for cell in next(rows, (1, []))[1]]
    for cell in header:
        if cell not in known or header.count(cell) > 1:
            hint = did_you_mean(cell, known) or f"; expected {','.join(known)}"
            problem = (
                f"column {show(cell)} is there twice"
                if cell in known
                else f"unknown column {show(cell)}{hint}"
            )
            raise ConfigError(f"{path}, line 1", problem)
    for name in known:
        if name not in header and name not in optional:
            raise ConfigError(f"{path}, line 1", f"no column '{name}'; expected {','.join(known)}")

    def checked() -> Iterator[tuple[int, list[str]]]:
        for line, row in rows:
            if row and len(row) != len(header):
                problem = f"expected {len(header)} values, as the header has, got {len(row)}"
                raise ConfigError(f"{path}, line {line}", problem)
            if row:
                yield line, row

    return header, checked()
