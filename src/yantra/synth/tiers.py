"""The ways to draw a job: `rules` pours passes anew, `grammar` builds them of motifs."""

from __future__ import annotations

from collections.abc import Sequence

from yantra.base.errors import UnsupportedError
from yantra.synth.observe import Observed
from yantra.synth.rules import Rules, fit


def fit_tier(jobs: Sequence[Observed], tier: str) -> Rules:
    """Rules of a tier. Raises UnsupportedError for one that there is not."""
    if tier in ("rules", "grammar"):
        return fit(jobs, tier)
    raise UnsupportedError(
        "--tier neural: a learned model was not shown to beat rules, so there is none; use rules "
        "or grammar"
    )
