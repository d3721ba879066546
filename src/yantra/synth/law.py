"""An amount that settings determine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Law(NamedTuple):
    """Coefficients of features, and the relative error that they leave."""

    coefficients: list[float]
    left: float

    def at(self, features: Sequence[float]) -> float:
        """The amount."""
        return sum(a * b for a, b in zip(self.coefficients, features, strict=True))
