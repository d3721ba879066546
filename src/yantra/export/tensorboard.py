"""Result -> a folder of TensorBoard; needs tensorboardX, or PyTorch with tensorboard.

Scalars have one point, step 0, so TensorBoard shows runs as bars.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from yantra.base.output import Path
from yantra.export.exporter import Exporter
from yantra.export.tracking import errors_of
from yantra.result import Result
from yantra.result.frames import needed
from yantra.result.metrics import metrics


class Tensorboard(Exporter):
    """Scalars and, as a text, what ran."""

    def write(self, result: Result, path: Path, **options: Any) -> list[str]:
        writers = _writers()
        with errors_of("tensorboard"), writers.SummaryWriter(os.fspath(path)) as writer:
            for name, value in metrics(result).items():
                writer.add_scalar(name, value, 0)
            writer.add_text("what_ran", result.what_ran.text, 0)
        return []


def _writers() -> Any:
    # raises UnsupportedError where none is installed
    if find_spec("tensorboardX") is None and find_spec("tensorboard") and find_spec("torch"):
        return import_module("torch.utils.tensorboard")
    return needed("tensorboardX", "export tensorboard")


PLUGIN = Tensorboard
