"""Result -> a run of MLflow; needs the package mlflow (or mlflow-skinny).

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


class Mlflow(Exporter):
    def write(self, result: Result, path: Path, **options: Any) -> list[str]:
        mlflow = needed("mlflow", "export mlflow")
        with errors_of("mlflow"):
            if mlflow.active_run() is not None:
                _log(mlflow, result)
            else:
                with mlflow.start_run(run_name=os.fspath(path)):
                    _log(mlflow, result)
        return []


def _log(mlflow: Any, result: Result) -> None:
    mlflow.log_params(result.what_ran.as_dict())
    mlflow.log_metrics(metrics(result))


PLUGIN = Mlflow
