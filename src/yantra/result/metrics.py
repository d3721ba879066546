"""The numbers of a run by name, for what keeps numbers over time: baselines, trackers of runs.

The makespan, the figures that are known, and the mean share of the ranks' time of each part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.result.parts import NAMES as PARTS

if TYPE_CHECKING:
    from yantra.result.result import Result


_LARGEST = 2**63  # trackers keep whole numbers of 64 bits


def metrics(result: Result) -> dict[str, float]:
    """Return the numbers of a run; names end in their unit, shares are of 1."""
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
