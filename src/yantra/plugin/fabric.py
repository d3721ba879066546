"""A fabric: a graph of devices and links, made from a few options."""

from __future__ import annotations

from yantra.fabric.graphs.builder import LINKS, Builder, Linked, Size
from yantra.fabric.graphs.draft import Draft, Speed

__all__ = ["LINKS", "Builder", "Draft", "Linked", "Size", "Speed"]
