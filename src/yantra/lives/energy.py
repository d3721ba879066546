"""The power of a life's job and of its spare hosts, as `yantra run --energy` has it.

A step, also one done again, draws the run's mean; in all other time devices wait and hosts,
switches and PUE go on. Trade-off: a place whose host failed draws as if it waited.
"""

from __future__ import annotations

from math import exp, hypot, log
from typing import TYPE_CHECKING, NamedTuple

from yantra.compute.power import UNJUDGED
from yantra.lives.ranges import Range

if TYPE_CHECKING:
    from yantra.lives.settings import Settings
    from yantra.result.energy import Energy

AT_WORK = ("useful", "redone")
"""Parts of a life in which steps run."""


PHASES = {
    "useful": "step",
    "checkpoints": "checkpoint",
    "waiting": "waiting for hosts",
    "restarts": "restarting",
    "redone": "working again",
    "stragglers": "slow ranks",
    "ragged": "groups away",
}
"""Phases by part of a life, as they follow each other; a failure brings the third and later."""
AFTER = ("waiting for hosts", "restarting", "working again")


class Draws(NamedTuple):
    """W of the building for the whole job, without what is `unknown`."""

    working_w: float
    waiting_w: float
    peak_w: float
    """Of any moment of a step."""
    profile_w: tuple[float, ...]
    """Of equal parts of a step."""
    grid_g_per_kwh: float | None
    unknown: tuple[str, ...]

    def of(self, part: str) -> float:
        return self.working_w if part in AT_WORK else self.waiting_w


def draws_of(step: Energy | None, said: Settings) -> Draws | None:
    """Of a run's energy, None if unknown; `pue` and `grid` of the settings come first."""
    if step is None:
        return None
    pue = 1.0 if said.pue is None else said.pue / (step.pue or 1.0)
    return Draws(
        step.facility_j / step.seconds * pue,
        step.idle_w * pue,
        step.peak_w * pue,
        tuple(watts * pue for watts in step.profile_w),
        step.grid_g_per_kwh if said.grid is None else said.grid,
        tuple(name for name in step.unknown if said.pue is None or not name.endswith(".pue")),
    )


def widened(of: Range) -> Range:
    """With the power law's interval, too."""
    low, high = (hypot(log(end / of.mean), UNJUDGED) for end in (of.low, of.high))
    return Range(of.mean, of.mean / exp(low), of.mean * exp(high))
