"""Lists of flows read from CSV: src,dst,bytes,start_ns."""

from __future__ import annotations

import numpy as np

from yantra.base.errors import ConfigError, expected_got
from yantra.base.whole_numbers import whole
from yantra.fabric.graphs.link_changes import table_of
from yantra.network.traffic.generator import Flows

COLUMNS = ("src", "dst", "bytes", "start_ns")
_LARGEST = 2**53  # integers that a double keeps


def read(path: str) -> Flows:
    """Read flows from CSV with the columns src, dst, bytes, start_ns in any order.

    `start_ns` is 0 by default. Raises ConfigError with line and column.
    """
    header, rows = table_of(path, COLUMNS, optional=("start_ns",))
    places = {name: header.index(name) for name in header}
    found: dict[str, list[int]] = {name: [] for name in COLUMNS}
    for line, row in rows:
        for name, at in places.items():
            text = row[at].strip()
            number = whole(text)
            if number is None or number > _LARGEST:
                problem = expected_got("a whole number, 0 or more and at most 2^53", text)
                raise ConfigError(f"{path}, line {line}, {name}", problem)
            found[name].append(number)
    count = len(found["src"])
    found["start_ns"] = found["start_ns"] or [0] * count
    return Flows(*(np.array(found[name], dtype=np.int64) for name in COLUMNS))
