"""What is asked of an engine, and when: read from traces, made by rules, written.

Trade-off: all requests are in memory, 100 bytes each and 16 for each span of shared tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.late import late

if TYPE_CHECKING:
    from yantra.serving.requests.arrivals import generate, load
    from yantra.serving.requests.join import concatenated
    from yantra.serving.requests.reading import Log, of_rows, read, read_log
    from yantra.serving.requests.statistics import Lengths, Statistics
    from yantra.serving.requests.types import OWN, Requests
    from yantra.serving.requests.writing import write
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "arrivals": "generate load",
            "join": "concatenated",
            "reading": "Log of_rows read read_log",
            "statistics": "Lengths Statistics",
            "types": "OWN Requests",
            "writing": "write",
        },
    )

__all__ = [
    "OWN",
    "Lengths",
    "Log",
    "Requests",
    "Statistics",
    "concatenated",
    "generate",
    "load",
    "of_rows",
    "read",
    "read_log",
    "write",
]
