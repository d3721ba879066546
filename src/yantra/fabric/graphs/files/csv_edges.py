"""Edge lists in CSV: a header, then a line per cable.

    from,to,bandwidth,latency,label,one_way
    0,leaf 0,50 GB/s,500 ns,rank,no

The first four are needed; `weight` is for routings (1), `buffer` what ports of the switch `from`
share; `box` holds both ends; without any, a switch that joins only ranks is in a box with them.
Devices 0, 1, 2 ... are ranks. A line is both ways, unless `one_way`. Empty lines and # lines are
skipped.
"""

from __future__ import annotations

from yantra.base.errors import ConfigError, expected_got, hint, show
from yantra.base.rows import csv_rows
from yantra.fabric.graphs.builder import BANDWIDTH, LATENCY
from yantra.fabric.graphs.files.gathering import Gathering, Traits, weight_of
from yantra.fabric.graphs.graph import Graph

_NEEDED = ("from", "to", "bandwidth", "latency")
_COLUMNS = (*_NEEDED, "label", "one_way", "weight", "buffer", "box")
_ONE_WAY = {"": False, "no": False, "false": False, "yes": True, "true": True}


def parse(text: str, name: str) -> Graph:
    gathering = Gathering(name, finds_boxes=True)
    header: list[str] | None = None
    for line, row in csv_rows(text, name, skip_spaces=True):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#"):
            continue
        where = f"{name}, line {line}"
        if header is None:
            header = _header(cells, where)
        elif len(cells) != len(header):
            problem = f"expected {len(header)} values, as the header has, got {len(cells)}"
            raise ConfigError(where, problem)
        else:
            _add(gathering, dict(zip(header, cells, strict=True)), where)
    if header is None:
        raise ConfigError(name, f"is empty; expected a line {','.join(_NEEDED)}")
    return gathering.graph()


def _header(cells: list[str], where: str) -> list[str]:
    for cell in cells:
        if cell not in _COLUMNS:
            raise ConfigError(where, f"unknown column {show(cell)}{hint(cell, _COLUMNS)}")
        if cells.count(cell) > 1:
            raise ConfigError(where, f"the column {cell} is there twice")
    for column in _NEEDED:
        if column not in cells:
            raise ConfigError(where, f"has no column {column}; expected {', '.join(_NEEDED)}")
    return cells


def _add(gathering: Gathering, row: dict[str, str], where: str) -> None:
    for column in ("from", "to"):
        if not row[column]:
            raise ConfigError(f"{where}, {column}", "expected the name of a device, got nothing")
    one_way = _ONE_WAY.get(row.get("one_way", ""))
    if one_way is None:
        raise ConfigError(f"{where}, one_way", expected_got("yes or no", row["one_way"]))
    rate = BANDWIDTH.read(row["bandwidth"], f"{where}, bandwidth", "")
    latency = LATENCY.read(row["latency"], f"{where}, latency", "")
    start, end = gathering.device(row["from"]), gathering.device(row["to"])
    weight = weight_of(row.get("weight") or "1", f"{where}, weight")
    traits = Traits(rate, latency, row.get("label", ""), weight)
    gathering.link(start, end, traits, where, both_ways=not one_way)
    if row.get("box"):
        for device in (start, end):
            gathering.box(device, row["box"], f"{where}, box")
    if row.get("buffer"):
        gathering.buffer(start, row["buffer"], f"{where}, buffer")
