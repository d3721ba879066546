"""What is asked of an engine, and when: read from traces, made by rules, written.

    from yantra.serving import requests

    asked = requests.load("poisson:rate=10/s,count=1000,isl=1024,osl=128,seed=1")
    asked = requests.read("azure_conv.csv.gz").scaled(2)

Trade-off: all requests are in memory, 100 bytes each and 16 for each span of shared tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.late import late

if TYPE_CHECKING:
    from yantra.serving.requests.arrivals import generate, load
    from yantra.serving.requests.hits import ideal_hits
    from yantra.serving.requests.join import concatenated, repeated
    from yantra.serving.requests.read import Log, read, read_log
    from yantra.serving.requests.statistics import Lengths, Statistics, statistics
    from yantra.serving.requests.types import OWN, Requests
    from yantra.serving.requests.write import write
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "arrivals": "generate load",
            "hits": "ideal_hits",
            "join": "concatenated repeated",
            "read": "Log read read_log",
            "statistics": "Lengths Statistics statistics",
            "types": "OWN Requests",
            "write": "write",
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
    "ideal_hits",
    "load",
    "read",
    "read_log",
    "repeated",
    "statistics",
    "write",
]
