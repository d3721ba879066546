"""A topology: the links and routes of one dimension."""

from __future__ import annotations

from yantra.fabric.topologies.geometry import around, both_ways, near_square
from yantra.fabric.topologies.topology import Block

__all__ = [
    "Block",
    "around",
    "both_ways",
    "near_square",
]
