"""A traffic generator: a list of flows made by a rule."""

from __future__ import annotations

from yantra.network.traffic.generator import Flows, Traffic, ordered, others

__all__ = [
    "Flows",
    "Traffic",
    "ordered",
    "others",
]
