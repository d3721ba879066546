"""Whether `yantra run` records: as asked, or where its output needs it and it is small.

A recorded run keeps the cause of every event, at most 48 bytes of each. What a run needs is known
when it has run, so where nobody asked, the recording may grow to a bound; beyond it the run is done
again without, and that is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from yantra.cli import warn

if TYPE_CHECKING:
    from yantra.compile import Model
    from yantra.result import Result
    from yantra.scenario.types import Fold
    from yantra.simulate import Progress

MOST_BYTES = 256 << 20

option: Callable[[Callable[..., Any]], Any] = click.option(
    "--record/--no-record",
    default=None,
    help="Keep the cause of every event: the critical path. Unless said, kept for --json, -o, "
    "--report and --trace where it takes less than 256 MiB (5.6 million events).",
)


def run(
    model: Model,
    wanted: bool | None,
    needed: bool,
    *,
    progress: Progress | None,
    fold: Fold | None,
) -> Result:
    """Run a model, recorded if `wanted`, or if that is not said, `needed` and small enough."""
    from yantra.errors import UnsupportedError
    from yantra.simulate import run as simulated
    from yantra.units import format_size

    if wanted is not None or not needed:
        return simulated(model, progress=progress, fold=fold, record=bool(wanted))
    try:
        return simulated(model, progress=progress, fold=fold, record=MOST_BYTES)
    except UnsupportedError:
        result = simulated(model, progress=progress, fold=fold)
    warn(
        [
            f"not recorded, so without a critical path: it takes more than "
            f"{format_size(MOST_BYTES)}; --record keeps it all the same"
        ]
    )
    return result
