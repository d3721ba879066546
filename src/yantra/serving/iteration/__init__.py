"""The time of one iteration of a serving engine: by closed form, in tables, for one batch.

Operators are those of `yantra workload infer`, times those of a run on the same stack, so the sum
is what a run of one iteration takes. Trade-off: nothing beside the replica uses its links.
"""

from __future__ import annotations

from yantra.serving.iteration.batch import Batch
from yantra.serving.iteration.predictor import Iteration, Predictor
from yantra.serving.iteration.tables import Tables

__all__ = ["Batch", "Iteration", "Predictor", "Tables"]
