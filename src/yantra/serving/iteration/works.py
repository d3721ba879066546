"""The operations of an iteration as functions of counts, a column for each case.

A stage's graph is built once for many batches (`yantra.explore.closed_form.cases`), of few layers
(`layers.py`); batches whose operations differ in more than numbers are built apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.explore.closed_form.amounts import Amounts, amounts_of
from yantra.explore.closed_form.cases import Cases, DifferError
from yantra.serving.iteration.layers import few_of
from yantra.workloads.operators.graph import Batch, Sequences
from yantra.workloads.serving.stages import Stages
from yantra.workloads.training.stage import Chunk

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.workloads.operators.operations import Operation
    from yantra.workloads.serving.plan import InferencePlan

HEAD = "head"


class Piece(NamedTuple):
    """`places` says which of the cases asked for; `times` is how often each operation is met."""

    places: np.ndarray
    operations: tuple[Operation, ...]
    amounts: Amounts
    times: tuple[int, ...]


class Works:
    """The forward passes of a model's stages under a plan."""

    def __init__(self, model: Any, plan: InferencePlan) -> None:
        self._stages = Stages(model, plan)
        self._multiple = plan.token_multiple
        last = plan.pp - 1
        self._few = [
            few_of(model, *span, has_tail=stage == last)
            for stage, span in enumerate(self._stages.ranges)
        ]
        self.model, self.plan = model, plan

    def decodes(self, stage: int, sequences: np.ndarray, past: np.ndarray) -> list[Piece]:
        return self._apart(stage, lambda n, p: Sequences(n, 1, p), (sequences, past))

    def prompts(self, stage: int, tokens: np.ndarray, past: np.ndarray) -> list[Piece]:
        return self._apart(stage, Sequences, (np.ones_like(tokens), tokens, past))

    def heads(self, sequences: np.ndarray) -> list[Piece]:
        two, none = np.full_like(sequences, 2), np.zeros_like(sequences)
        last = len(self._few) - 1
        return self._apart(last, Sequences, (sequences, two, none), has_layers=False)

    def _apart(
        self,
        stage: int,
        make: Callable[..., Sequences],
        counts: tuple[np.ndarray, ...],
        *,
        has_layers: bool = True,
    ) -> list[Piece]:
        found: list[Piece] = []
        waiting = [np.arange(len(counts[0]))]
        while waiting:
            places = waiting.pop()
            if not len(places):
                continue
            group = make(*(_number(column[places]) for column in counts))
            try:
                found.append(self._together(stage, group, places, has_layers=has_layers))
            except DifferError as error:
                waiting += [places[~error.holds], places[error.holds]]
        return found

    def _together(
        self, stage: int, group: Sequences, places: np.ndarray, *, has_layers: bool
    ) -> Piece:
        padding = -(group.number * group.new) % self._multiple
        batch = Batch((group,), all_logits=False, padding=padding)
        few = self._few[stage]
        count = len(few.layers)
        ends = stage == 0 and has_layers, stage == len(self._few) - 1
        layers = (0 if has_layers else count, count)
        work = Chunk(few, self._stages.setting(batch), layers, *ends).work()
        names = {f"layers.{at}": times for at, times in enumerate(few.times)}
        operations = work.forward.operations
        times = tuple(names.get(one.unit, 1) for one in operations)
        return Piece(places, operations, amounts_of(work, len(places)), times)


def _number(column: np.ndarray) -> Any:
    if (column == column[0]).all():
        return int(column[0])
    return Cases.of(column)
