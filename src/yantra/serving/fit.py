"""What a log of requests says of an engine's host and of two kinds of kernels on a machine.

Three factors: of what the host adds, and by which products and attention take longer than the
tables say. Trade-off: factors are pulled to 1.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.accuracy.simplex import simplex
from yantra.base.errors import ConfigError, DeadlockError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.serving.fleet import Fleet, Ran
    from yantra.serving.iteration import Tables
    from yantra.serving.requests import Requests
    from yantra.serving.speeds import Measured

MEASURES = ("ttft_s", "tpot_s", "end_to_end_s")
_PULL = 0.02
_STEP, _TURNS = 0.3, 120
_QUANTILES = np.linspace(0.05, 0.95, 19)


class Terms(NamedTuple):
    host: float = 1.0
    products: float = 1.0
    attention: float = 1.0

    def tables(self, of: Tables) -> Tables:
        """Return tables with these factors."""
        return of.scaled(self.products, self.attention, self.host)

    def cost(self, of: Measured) -> Measured:
        """Return a cost with these factors."""
        return of._replace(tables=self.tables(of.tables))


class Fitted(NamedTuple):
    """Terms, and how far the simulated log is off with them and without: mean of |ln ratio|."""

    terms: Terms
    before: float
    after: float


def fitted(
    fleet: Fleet, requests: Requests, measured: Mapping[str, np.ndarray], used: int | None = None
) -> Fitted:
    """Raises ConfigError for a log without times."""
    known = {name: measured[name] for name in MEASURES if name in measured}
    if not known or all(np.isnan(values[:used]).all() for values in known.values()):
        raise ConfigError(
            "requests", "nothing was measured; expected ttft, tpot or end to end times"
        )

    def loss(point: np.ndarray) -> float:
        terms = Terms(*map(exp, point.tolist()))
        pull = _PULL * float(np.square(point).sum())
        return distance(run(fleet, requests, terms), known, used) + pull

    best = simplex(loss, np.zeros(len(Terms._fields)), _STEP, _TURNS)
    terms = Terms(*map(exp, best.tolist()))
    ends = (distance(run(fleet, requests, one), known, used) for one in (Terms(), terms))
    return Fitted(terms, *ends)


def run(fleet: Fleet, requests: Requests, terms: Terms) -> Ran | None:
    pools = tuple(replace(pool, cost=terms.cost(pool.cost)) for pool in fleet.pools)
    try:
        return replace(fleet, pools=pools).run(requests)
    except DeadlockError:
        return None


def distance(ran: Ran | None, measured: Mapping[str, np.ndarray], used: int | None) -> float:
    if ran is None:
        return log(1e6)
    found = []
    for name, values in measured.items():
        mine, its = _pair(ran, name, values, used)
        if len(its):
            found.append(_apart(mine, its))
    return float(np.mean(found))


def _apart(mine: np.ndarray, its: np.ndarray) -> float:
    pairs = zip(np.quantile(mine, _QUANTILES), np.quantile(its, _QUANTILES), strict=True)
    by_rank = float(np.mean([abs(log(max(a, 1e-9) / max(b, 1e-9))) for a, b in pairs]))
    return 0.5 * by_rank + 0.5 * abs(log(mine.mean() / its.mean()))


def _pair(
    ran: Ran, name: str, values: np.ndarray, used: int | None
) -> tuple[np.ndarray, np.ndarray]:
    keep = ~np.isnan(values) & (values > 0)
    keep[used:] = False if used is not None else keep[used:]
    if name == "tpot_s":
        many = ran.requests.output > 1
        whole = np.full(len(values), np.nan)
        whole[many] = ran.tpot_s
        keep &= many
        return whole[keep], values[keep]
    mine = ran.ttft_s if name == "ttft_s" else ran.e2e_s
    return mine[keep], values[keep]
