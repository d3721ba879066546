"""What a named cluster's collectives take, measured or achievable; each size is asked once."""

from __future__ import annotations

from functools import cache

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.explain.bench_on_cluster import Asked, bench
from yantra.explain.recordings.transfers import Expected, Model
from yantra.fabric import clusters
from yantra.run.collective_bench import BENCHED

_KINDS = frozenset(str(kind) for kind in BENCHED)


def of_cluster(name: str) -> Model:
    """The model of a cluster; its answer is None for what it does not model.

    Raises ConfigError for an unknown cluster, at once.
    """

    @cache
    def expected(kind: str, size_bytes: int, ranks: int) -> Expected | None:
        if kind not in _KINDS or ranks < 2:
            return None
        asked = Asked(kind, (size_bytes,), ranks, {}, {})
        try:
            _, (row,), rests_on = bench(name, asked)
        except (ConfigError, UnsupportedError):
            return None
        if row.time_ns is None:
            return None
        return Expected(row.time_ns, row.low_ns, row.high_ns, rests_on)

    clusters.load(name, where="--cluster")
    return expected
