"""What of an iteration is work in the sense of `yantra.compute.power`, and how sure its joules are.

Kernels that read weights or keys are, and SAMPLED of what the host takes for each sequence, for
which devices choose tokens. Trade-off: other GPUs of a group count as the one that samples.
"""

from __future__ import annotations

from typing import Final

HEAVY: Final = ("products", "attention", "experts")
SAMPLED: Final = 0.8
_INTERVAL: Final = 0.21
"""Holds 90 % of joules of decode, as a logarithm, of models left out of the fit."""


def width_of(of_time: float) -> float:
    """The half-width of 90 % of joules, given that of times."""
    return max(of_time, _INTERVAL)
