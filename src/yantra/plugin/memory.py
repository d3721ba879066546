"""A memory model: how long accesses to remote memory take."""

from __future__ import annotations

from yantra.memory.model import Accesses, Hop, LatencyAndBandwidth, MemoryModel, Pipeline, Speeds

__all__ = [
    "Accesses",
    "Hop",
    "LatencyAndBandwidth",
    "MemoryModel",
    "Pipeline",
    "Speeds",
]
