"""A mode of post-training: which loop plays a step, and how far ahead it generates."""

from __future__ import annotations

from yantra.rl.modes.mode import Asked, Loop, Mode

__all__ = ["Asked", "Loop", "Mode"]
