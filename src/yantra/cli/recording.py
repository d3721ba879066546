"""Whether `yantra run` records: as asked, or if its output shows the critical path.

An event takes up to 48 bytes; beyond a bound, unless asked for, the run is repeated without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from yantra.cli import warn

if TYPE_CHECKING:
    from yantra.compile import Model
    from yantra.result import Result
    from yantra.run.simulate import Progress
    from yantra.scenario.types import Fold

MOST_BYTES = 256 << 20

option: Callable[[Callable[..., Any]], Any] = click.option(
    "--record/--no-record",
    default=None,
    help="Keep the cause of every event: the critical path. By default kept for --report, and "
    "for --json, -o and --trace where it takes less than 256 MiB (5.6 million events).",
)


def run(
    model: Model,
    wanted: bool | None,
    needs: bool | int,
    *,
    progress: Progress | None,
    fold: Fold | None,
) -> Result:
    from yantra.base.errors import UnsupportedError
    from yantra.base.units import format_size
    from yantra.run.simulate import run as simulated

    def tell(sentence: str) -> None:
        warn([sentence])

    if wanted is not None or needs is False or (model.has_switches and needs is not True):
        return simulated(model, progress=progress, fold=fold, record=bool(wanted), tell=tell)
    try:
        return simulated(model, progress=progress, fold=fold, record=needs, tell=tell)
    except UnsupportedError as error:
        bound = f"it takes more than {format_size(needs)}; --record keeps it anyway"
        why = str(error) if needs is True else bound
        result = simulated(model, progress=progress, fold=fold)
    warn([f"not recorded, so there is no critical path: {why}"])
    return result
