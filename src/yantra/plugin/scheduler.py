"""A scheduler: which ready node of a rank starts first."""

from __future__ import annotations

from yantra.schedulers.scheduler import (
    COLLECTIVE,
    COMPUTE,
    MEMORY,
    NOTHING,
    RECEIVE,
    SEND,
    Nodes,
    Scheduler,
)

__all__ = [
    "COLLECTIVE",
    "COMPUTE",
    "MEMORY",
    "NOTHING",
    "RECEIVE",
    "SEND",
    "Nodes",
    "Scheduler",
]
