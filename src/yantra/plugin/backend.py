"""A backend: where scenarios of a sweep and trials of a study run."""

from __future__ import annotations

from yantra.run.backends.backend import Backend, Work

__all__ = [
    "Backend",
    "Work",
]
