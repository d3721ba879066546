"""An algorithm of post-training: what a step scores, trains and throws away."""

from __future__ import annotations

from yantra.rl.algorithms.algorithm import Algorithm, Alone, Work

__all__ = ["Algorithm", "Alone", "Work"]
