"""Running with a recording where the machine has the memory for it."""

from __future__ import annotations

from yantra.cli import warn
from yantra.compile import Model
from yantra.errors import UnsupportedError
from yantra.result import Result
from yantra.scenario.types import Fold
from yantra.simulate import Progress, run


def run_recorded(model: Model, *, progress: Progress | None, fold: Fold | None) -> Result:
    """Run a model recorded; if that is impossible, say why on stderr and run it without.

    What a run cannot do without a recording either is raised as `run` raises it.
    """
    try:
        return run(model, progress=progress, fold=fold, record=True)
    except UnsupportedError as error:
        result = run(model, progress=progress, fold=fold)
        warn([f"not recorded, so there is no critical path: {error}"])
        return result
