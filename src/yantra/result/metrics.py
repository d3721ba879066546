"""A run's numbers by name, for baselines and trackers: makespan, known figures, mean share of each
part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.result.parts import NAMES as PARTS

if TYPE_CHECKING:
    from yantra.result.result import Result


_LARGEST = 2**63  # trackers keep 64-bit integers


def metrics(result: Result) -> dict[str, float]:
    """A run's numbers; names end in their unit, shares are of 1."""
    found: dict[str, float] = {"makespan_ns": result.makespan_ns}
    for name, value in result.figures.as_dict().items():
        if not isinstance(value, str):
            found[name] = value if abs(value) < _LARGEST else float(value)
    return found | _shares(result)


def _shares(result: Result) -> dict[str, float]:
    whole = result.makespan_ns * result.model.ranks
    if not whole:
        return {}
    sums = {part: float(result.ranks[f"{part}_ns"].sum()) for part in PARTS}
    return {f"{part}_share": value / whole for part, value in sums.items()}
