"""Replaying: runs the operators of a trace again with PyTorch and compares the times.

    report = yantra.tracing.replay.replay("linked.0.json", iterations=5)
    print(report.coverage, report.ratio)

Each operator is called on its own, in the order of the trace, with tensors of the recorded shapes,
types and storages but invented values. What cannot be called is listed with the reason.
"""

from __future__ import annotations

from yantra.tracing.replay.report import Replayed, Report
from yantra.tracing.replay.run import replay

__all__ = ["Replayed", "Report", "replay"]
