"""The normal distribution, as far as intervals need it."""

from __future__ import annotations

WITHIN_90 = 1.6448536269514722
"""Standard deviations, on each side, that 90 of 100 cases are within."""
