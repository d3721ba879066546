"""`serve plan`: the cheapest engine, parallelism, replicas and pools that keep a promise."""

from __future__ import annotations

from yantra.serving.search.search import NO_ROOM, Found, Tried, search

__all__ = ["NO_ROOM", "Found", "Tried", "search"]
