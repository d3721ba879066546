"""Lists of flows as CSV: src,dst,bytes,start_ns."""

from __future__ import annotations

from yantra.base.documents import Path
from yantra.base.output import whole_text
from yantra.network.traffic.generator import Flows

HEADER = "src,dst,bytes,start_ns"

_ROWS = 100_000  # written at once


def write(flows: Flows, path: Path) -> None:
    with whole_text(path) as file:
        file.write(f"{HEADER}\n")
        for first in range(0, len(flows.src), _ROWS):
            columns = (column[first : first + _ROWS].tolist() for column in flows)
            rows = zip(*columns, strict=True)
            file.write("".join(f"{a},{b},{size},{start}\n" for a, b, size, start in rows))
