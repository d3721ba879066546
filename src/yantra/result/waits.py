"""Outcome -> what waiting costs: the makespan if nobody waited, and if all ranks had equal work.

A rank is busy while it computes, communicates, reaches memory or runs host work that counts. Two
removals need no run:

    bubble   every rank is busy to the end: the makespan is the busiest rank's work
    uneven   even work: the busiest rank's excess over the mean is gone

The first is a pipeline's bubble (Huang et al., "GPipe", NeurIPS 2019, section 2.3) less the second.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from yantra import _core
from yantra.compile import Model
from yantra.compile.templates import TemplateGraphs
from yantra.result.parts import NAMES as PARTS
from yantra.result.tables import breakdown

_BUSY = PARTS.index("waiting")


class Waits(NamedTuple):
    """What the two removals would save, in ticks."""

    bubble: int
    uneven: int


def waits(model: Model, outcome: _core.Outcome) -> Waits:
    """Ranks without nodes do not count."""
    finish = outcome.finish
    sizes = [len(graph) for graph in model.graphs.distinct]
    ranks = [rank for rank, at in enumerate(model.graphs.by_rank) if sizes[at]]
    first = {outcome.first_node[rank]: rank for rank in reversed(ranks)}
    counts = Counter(outcome.first_node[rank] for rank in ranks)
    busy = {at: sum(breakdown(model, outcome, rank)[:_BUSY]) for at, rank in first.items()}
    most = max(busy.values(), default=0)
    mean = sum(busy[at] * count for at, count in counts.items()) // (len(ranks) or 1)
    return Waits(max(finish) - most, most - mean)


def is_pipeline(model: Model) -> bool:
    if not isinstance(model.graphs, TemplateGraphs):
        return False
    grids = model.graphs.workload.grids
    views = (grid.axes(view) for grid in grids for view, _ in grid.views)
    return any(axes.get("pp", 1) > 1 for axes in views)
