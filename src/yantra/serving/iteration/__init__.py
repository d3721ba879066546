"""The time of one iteration of a serving engine: by closed form, in tables, for one batch.

Trade-off: nothing beside the replica uses its links.
"""

from __future__ import annotations

from yantra.serving.iteration.batch import Batch
from yantra.serving.iteration.predictor import Iteration, Predictor
from yantra.serving.iteration.tables import Tables

__all__ = ["Batch", "Iteration", "Predictor", "Tables"]
