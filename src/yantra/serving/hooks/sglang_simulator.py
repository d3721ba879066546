"""SGLang Simulator's time predictor: how long an iteration of its real scheduler's batch takes.

Interface: `InferTimePredictor` of sgl-project/sglang, tools/sglang-simulator (time_predictor):
`predict_infer_time(batch)` returns seconds, `batch.reqs` have `extend_length` and `past_kv_length`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from yantra.serving.iteration import Predictor
from yantra.workloads.serving.plan import InferencePlan

if TYPE_CHECKING:
    Base: Any = object
else:
    try:
        from sglang_simulator.time_predictor.base import InferTimePredictor as Base
    except ImportError:
        Base = object


class YantraTimePredictor(Base):  # type: ignore[misc]
    """Their `model`, `hw` and `config` are kept; `yantra_model` runs by `plan` on `cluster`.

    Raises ConfigError as Predictor.
    """

    def __init__(
        self,
        model: Any = None,
        hw: Any = None,
        config: Any = None,
        *_others: Any,
        yantra_model: str = "",
        cluster: str = "",
        plan: Mapping[str, Any] | None = None,
        stack: str | None = None,
        predictor: Predictor | None = None,
        with_host: bool = False,
        **_more: Any,
    ) -> None:
        self.model, self.hw, self.config = model, hw, config
        if predictor is None:
            chosen = InferencePlan.of(dict(plan or {}))
            predictor = Predictor(yantra_model, cluster, chosen, stack=stack, engine="vllm")
        self._predictor = predictor
        self._with_host = with_host
        self._calls = 0

    def predict_infer_time(self, batch: Any) -> float:
        self._calls += 1
        sequences = [(one.extend_length, one.past_kv_length) for one in batch.reqs]
        if not sequences:
            return 0.0
        found = self._predictor.iteration(sequences)
        return found.seconds - (0.0 if self._with_host else found.parts["host"])

    def get_metrics(self) -> dict[str, int]:
        return {"calls": self._calls}

    def reset_metrics(self) -> None:
        """Count from 0 again."""
        self._calls = 0
