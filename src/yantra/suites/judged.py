"""`python -m yantra.suites.judged`: does a suite of 8 rank clusters as the whole library does?

Kendall's tau of the order by the suite and that by all, beside suites drawn at random. It takes
some minutes, as every trace runs on every cluster.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from yantra.suites.choose import choose
from yantra.suites.run import Ranking, ranked, run_suite
from yantra.suites.traces import Given, of_library

CLUSTERS = (
    "dgx-a100-80gb", "hgx-h100", "hgx-h200", "hgx-h20", "hgx-b200", "gb200-nvl72", "mi300x",
    "mi355x", "rtx-pro-6000", "mi325x", "hgx-h800", "trainium2",
)  # fmt: skip
_COUNT, _DRAWS, _SEED = 8, 100, 1


class Judged(NamedTuple):
    """`traces` ran on all clusters; `chosen` and `drawn` are taus, `order` is by all."""

    traces: int
    order: tuple[str, ...]
    chosen: float
    drawn: tuple[float, ...]


def judge(
    given: Sequence[Given], clusters: Sequence[str] = CLUSTERS, count: int = _COUNT
) -> Judged:
    whole = run_suite(choose(given, len({one.digest for one in given})), clusters)
    order = _order(whole)
    runs = [one for one in given if one.name in whole.weights]
    suite = {one.name: one.weight for one in choose(runs, count).chosen}
    draws = np.random.default_rng(_SEED)
    drawn = []
    for _ in range(_DRAWS):
        some = draws.choice(sorted(whole.weights), count, replace=False)
        drawn.append(tau(order, _order(_of(whole, dict.fromkeys(map(str, some), 1.0)))))
    chosen = tau(order, _order(_of(whole, suite)))
    return Judged(len(whole.weights), order, chosen, tuple(drawn))


def tau(one: Sequence[str], other: Sequence[str]) -> float:
    """Kendall's tau of two orders of the same names: 1 where equal, -1 where reversed."""
    place = {name: at for at, name in enumerate(other)}
    pairs = list(combinations(one, 2))
    agree = sum(place[first] < place[second] for first, second in pairs)
    return 2 * agree / len(pairs) - 1


def _order(ranking: Ranking) -> tuple[str, ...]:
    return tuple(one.cluster for one in ranking.clusters)


def _of(whole: Ranking, weights: dict[str, float]) -> Ranking:
    times = {(name, one.cluster): one.times[name] for one in whole.clusters for name in weights}
    return ranked(times, weights, [one.cluster for one in whole.clusters], {}, {})


def main() -> int:
    found = judge(of_library())
    drawn = np.array(found.drawn)
    sys.stdout.write(
        f"{found.traces} traces on {len(found.order)} clusters: {', '.join(found.order)}\n"
        f"suite of {_COUNT}: tau {found.chosen:.3f}\n"
        f"random {_COUNT}, {_DRAWS} draws: mean {drawn.mean():.3f}, least {drawn.min():.3f}\n"
    )
    return 0 if found.chosen >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
