"""Frameworks of post-training, a file each: what they do between generation and training."""

from __future__ import annotations

from yantra.rl.frameworks.find import load, names
from yantra.rl.frameworks.types import Framework, Move

__all__ = ["Framework", "Move", "load", "names"]
