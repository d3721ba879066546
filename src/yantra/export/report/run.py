"""`Run`: a result as a report needs it, gathered once for all parts."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from yantra.base.units import format_time
from yantra.export.report.classes import Classes, RankClass, find_classes
from yantra.export.report.columns import Columns
from yantra.export.report.nodes import Graph, describe
from yantra.export.report.traces import traces_of
from yantra.result import Result
from yantra.result.accounting import COLLECTIVE_PARTS
from yantra.result.tables import NEVER


class Run:
    """A result, its classes of ranks, its graphs with attributes, and the page's columns."""

    def __init__(self, result: Result) -> None:
        self.result = result
        self.columns = Columns()

    @cached_property
    def grouping(self) -> Classes:
        return find_classes(self.result)

    @property
    def classes(self) -> list[RankClass]:
        return self.grouping.classes

    @cached_property
    def graphs(self) -> list[Graph]:
        model = self.result.model
        return describe(model.graphs.distinct, traces_of(model))

    @cached_property
    def collective_parts(self) -> tuple[Any, list[Any]]:
        import numpy as np

        columns = self.result.recording.collective_parts
        parts = [np.asarray(getattr(columns, name), dtype=np.int64) for name in COLLECTIVE_PARTS]
        return np.asarray(columns.place, dtype=np.int64), parts

    @property
    def ticks_per_ns(self) -> int:
        return self.result.model.ticks_per_ns

    @property
    def makespan(self) -> int:
        return max(one.finish for one in self.classes)

    def ns(self, ticks: float) -> float:
        return ticks / self.ticks_per_ns

    def told(self, ticks: float) -> str:
        return format_time(self.ns(ticks))

    def times(self, one: RankClass) -> tuple[Any, Any]:
        """Starts and ends of a class's nodes in ticks, as numpy arrays of uint64."""
        import numpy as np

        past = one.first + one.nodes
        outcome = self.result.outcome
        return np.asarray(outcome.start[one.first : past]), np.asarray(
            outcome.end[one.first : past]
        )

    def ran(self, one: RankClass) -> list[tuple[int, int, int]]:
        start, end = self.times(one)
        pairs = zip(start.tolist(), end.tolist(), strict=True)
        return [(node, begin, past) for node, (begin, past) in enumerate(pairs) if past != NEVER]
