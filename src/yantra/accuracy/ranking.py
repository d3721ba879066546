"""How well plans of one job are ranked: Kendall's tau, and what the plan ranked first costs.

A group is the plans of one model and batch on one number of ranks of one machine, of one data set;
those of fewer than five different plans are left out, as repeats of one have no order. See
`metrics` for both figures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from yantra.accuracy.metrics import Regret, regret, tau
from yantra.accuracy.rows import Row

LEAST_PLANS = 5


class Ranking(NamedTuple):
    """Agreement over groups of plans, None where no pair counts, and the regret."""

    groups: int
    tau: float | None
    regret: Regret

    def words(self) -> tuple[str, str]:
        """Return both as a table has them: tau, and the mean regret with that of 90 % of groups."""
        agreement = "-" if self.tau is None else f"{self.tau:.2f} ({self.groups})"
        return agreement, f"{self.regret.mean:.1%} (90 %: {self.regret.ninety:.1%})"


def group_of(row: Row) -> tuple[object, ...]:
    """Return the job that a row is a plan of."""
    return row.dataset, row.cluster, row.dtype, row.model, row.ranks, row.made_plan().global_batch


def groups_of(timed: Iterable[tuple[Row, float]]) -> list[list[tuple[float, float]]]:
    """Return (measured, ours) by group; `timed` are rows with our seconds."""
    groups: Mapping[object, list[tuple[float, float]]] = defaultdict(list)
    plans: Mapping[object, set[str]] = defaultdict(set)
    for row, seconds in timed:
        key = group_of(row)
        groups[key].append((row.seconds, seconds))
        plans[key].add(row.plan)
    return [group for key, group in groups.items() if len(plans[key]) >= LEAST_PLANS]


def ranking_of(timed: Iterable[tuple[Row, float]]) -> Ranking | None:
    """Return how well the plans of rows are ranked by our seconds; None without a group."""
    groups = groups_of(timed)
    found = regret(groups)
    return None if found is None else Ranking(len(groups), tau(groups), found)
