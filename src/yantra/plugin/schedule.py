"""A schedule: the order of a pipeline's passes."""

from __future__ import annotations

from yantra.workloads.schedules.schedule import Pair, Schedule, Step, in_turns

__all__ = [
    "Pair",
    "Schedule",
    "Step",
    "in_turns",
]
