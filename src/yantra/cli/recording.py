"""Whether `yantra run` records: as asked, or where what it writes shows the critical path.

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
    """Run a model, recorded as `wanted`; if that is not said, as what is written `needs` it.

    `needs` is what `yantra.run.simulate.run` takes: no, as far as memory goes, or up to so many
    bytes. Where that is too little, the run is done without and that is told on stderr.
    """
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
