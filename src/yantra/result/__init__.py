"""The answer of a run: per rank, node, collective, dimension and link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.late import late

if TYPE_CHECKING:
    from yantra.result.bound import Bound
    from yantra.result.critical_path import CriticalPath, Step
    from yantra.result.network import DimensionUse
    from yantra.result.recording import Recording
    from yantra.result.result import Result
    from yantra.result.table import Table
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "bound": "Bound",
            "critical_path": "CriticalPath Step",
            "network": "DimensionUse",
            "recording": "Recording",
            "result": "Result",
            "table": "Table",
        },
    )

__all__ = [
    "Bound",
    "CriticalPath",
    "DimensionUse",
    "Recording",
    "Result",
    "Step",
    "Table",
]
