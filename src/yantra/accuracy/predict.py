"""What Yantra predicts for a measured step, by the same calls as the command line.

Steps are run as they are, also those of 16,384 ranks: one rank of each class stands for the others,
so nothing is cut or extrapolated.

A step's time is a sum of parts that grow with factors: T = k_products C + k_rest R while its
critical path stays the same, as every duration on it is multiplied by one of the two. C and R are
found by running the step a second time with one factor a little larger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from yantra.accuracy.rows import Row
from yantra.base.errors import YantraError
from yantra.compile import Model as Compiled
from yantra.compile import compile
from yantra.fabric.clusters.types import Speeds
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.workloads.training.train import train


class Prediction(NamedTuple):
    """A row and our seconds for it; or, in `refused`, why there are none."""

    row: Row
    seconds: float
    refused: str = ""

    @property
    def ratio(self) -> float:
        """Return ours as a multiple of the measured time."""
        return self.seconds / self.row.seconds


def scenario_of(row: Row, speeds: Speeds) -> Scenario:
    """Return the scenario of a measured step. Raises ConfigError where the plan is refused."""
    workload = Templates(workload=train(row.made_model(), row.made_plan()))
    parts = cluster_parts(row.cluster, row.ranks, row.dtype, speeds=speeds)
    return Scenario(workload=workload, **parts)


def seconds(scenario: Scenario) -> float:
    """Return the seconds of a step."""
    return float(simulate(scenario).finish_ns.max()) / 1e9


def predicted(rows: Iterable[Row], speeds: Speeds) -> Iterator[Prediction]:
    """Yield our time for each row."""
    for row in rows:
        try:
            yield Prediction(row, seconds(scenario_of(row, speeds)))
        except YantraError as error:
            yield Prediction(row, 0.0, str(error))
