"""Result -> a run of Weights & Biases; needs the package wandb.

The path is the run's name; an active run takes the numbers itself.
"""

from __future__ import annotations

import os
from typing import Any

from yantra.base.output import Path
from yantra.export.exporter import Exporter
from yantra.export.tracking import errors_of
from yantra.result import Result
from yantra.result.frames import needed
from yantra.result.metrics import metrics


class Wandb(Exporter):
    """Metrics and, as its configuration, what ran."""

    def write(self, result: Result, path: Path, **options: Any) -> list[str]:
        wandb = needed("wandb", "export wandb")
        with errors_of("wandb"):
            active = wandb.run
            run = active if active is not None else wandb.init(name=os.fspath(path))
            run.config.update(result.what_ran.as_dict(), allow_val_change=True)
            run.log(metrics(result))
            if active is None:
                run.finish()
        return []


PLUGIN = Wandb
