"""Runs a suite on clusters and ranks them by the weighted geometric mean of its traces' times.

A trace that a cluster cannot run is left out for all. Where memory lacks it runs all the same, and
is counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from math import exp, log
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import CapacityError, ConfigError, UnsupportedError, YantraError
from yantra.run.sweep import sweep
from yantra.suites.choose import Chosen, Suite

if TYPE_CHECKING:
    from yantra.export.stored import StoredResult
    from yantra.result import Result
    from yantra.scenario import Scenario

Progress = Callable[[float, int | None], None]


class Time(NamedTuple):
    """Of a step in ns, with its 90 % interval where known."""

    ns: float
    low_ns: float | None
    high_ns: float | None


class Ranked(NamedTuple):
    """A cluster. `times` by trace; `ns` is their mean, `ratio` that to the first cluster.

    `agree`: the weight of traces on which it is faster than the next, half of those alike; `sure`:
    of those whose intervals are apart, too. None for the last, and where no interval is known.
    `too_large`: traces that do not fit into memory.
    """

    cluster: str
    ns: float
    ratio: float
    agree: float | None
    sure: float | None
    times: dict[str, Time]
    too_large: tuple[str, ...]


class Ranking(NamedTuple):
    """`refused`: traces that were left out, with the first cluster's reason."""

    clusters: tuple[Ranked, ...]
    weights: dict[str, float]
    refused: dict[str, str]
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; times in ns."""
        rows = [
            {"cluster": one.cluster, "ns": one.ns, "ratio": one.ratio, "agree": one.agree,
             "sure": one.sure, "too_large": list(one.too_large),
             "times": {name: time._asdict() for name, time in one.times.items()}}
            for one in self.clusters
        ]  # fmt: skip
        return {"clusters": rows, "weights": self.weights, "refused": self.refused,
                "warnings": list(self.warnings)}  # fmt: skip


def run_suite(suite: Suite, clusters: Sequence[str], progress: Progress | None = None) -> Ranking:
    """Raises ConfigError for an unknown cluster, or where no trace runs on all."""
    from yantra.fabric.clusters import load

    for name in clusters:
        load(name, where="--cluster")
    if repeated := next((one for one in clusters if list(clusters).count(one) > 1), None):
        raise ConfigError("--cluster", f"{repeated} is named twice")
    with TemporaryDirectory() as folder:
        files = files_of(suite, folder)
        cells = _Cells(suite, clusters, files)
        cells.run(progress)
    weights = {one.name: one.weight for one in suite.chosen}
    found = ranked(cells.times, weights, clusters, cells.refused, cells.too_large)
    return found._replace(warnings=tuple(sorted(cells.warnings)))


def files_of(suite: Suite, folder: str) -> dict[str, str]:
    """The traces' files by name; those of the library are made in `folder`."""
    from yantra.library.build import build
    from yantra.library.families import chosen

    found = {one.name: one.file for one in suite.chosen if one.file}
    wanted = [one for one in suite.chosen if not one.file]
    for one, built in zip(wanted, build(chosen([one.name for one in wanted]), folder), strict=True):
        if built.problem or built.row is None or built.row.digest != one.digest:
            why = built.problem or "the library makes another trace than was chosen; select again"
            raise ConfigError(f"suite: {one.name}", why)
        found[one.name] = built.path
    for name, file in found.items():
        if not os.path.exists(file.replace("{rank}", "0")):
            raise ConfigError(f"suite: {name}", f"{file} is not there; select again")
    return found


class _Cells:
    """Every trace on every cluster."""

    def __init__(self, suite: Suite, clusters: Sequence[str], files: dict[str, str]) -> None:
        self.pairs = [(one, cluster) for one in suite.chosen for cluster in clusters]
        self.times: dict[tuple[str, str], Time] = {}
        self.refused: dict[str, str] = {}
        self.too_large: dict[str, list[str]] = {cluster: [] for cluster in clusters}
        self.warnings: dict[str, None] = {}
        self._files = files
        self._given: list[tuple[str, str]] = []

    def run(self, progress: Progress | None) -> None:
        def tell(done: float, _: int | None) -> None:
            if progress is not None:
                progress(done, len(self.pairs))

        outcomes = sweep(self._scenarios(), keep=self._keep, progress=tell)
        try:
            for at, outcome in enumerate(outcomes):
                name, cluster = self._given[at]
                if isinstance(outcome, YantraError):
                    self._refuse(name, cluster, outcome)
                else:
                    self.times[name, cluster] = outcome
        finally:
            outcomes.close()

    def _keep(self, at: int, result: Result | StoredResult) -> Time:
        of, name = result.figures, self._given[at][0]
        self.warnings |= dict.fromkeys(f"{name}: {text}" for text in result.warnings)
        return Time(of.step_time_ns or result.makespan_ns, of.time_low_ns, of.time_high_ns)

    def _scenarios(self) -> Iterator[Scenario]:
        for one, cluster in self.pairs:
            if one.name in self.refused:
                continue
            try:
                scenario = self._scenario(one, cluster)
            except YantraError as error:
                self._refuse(one.name, cluster, error)
                continue
            self._given.append((one.name, cluster))
            yield scenario

    def _scenario(self, one: Chosen, cluster: str) -> Scenario:
        from yantra.scenario.on_cluster import on_cluster
        from yantra.scenario.recognise import recognise, workload_of

        workload = workload_of(recognise(self._files[one.name]))
        try:
            return on_cluster(workload, cluster)
        except CapacityError:
            self.too_large[cluster].append(one.name)
            return on_cluster(workload, cluster, ignore_memory=True)

    def _refuse(self, name: str, cluster: str, error: YantraError) -> None:
        self.refused.setdefault(name, f"{cluster}: {error}")


def ranked(
    times: dict[tuple[str, str], Time],
    weights: dict[str, float],
    clusters: Sequence[str],
    refused: dict[str, str],
    too_large: dict[str, list[str]],
) -> Ranking:
    """Rank clusters by the times of traces that all have. Raises UnsupportedError without any."""
    names = [name for name in weights if name not in refused]
    if not names:
        name, why = next(iter(refused.items()))
        raise UnsupportedError(f"suite: no trace runs on all clusters; {name} on {why}")
    total = sum(weights[name] for name in names)
    shares = {name: weights[name] / total for name in names}
    means = {
        cluster: exp(sum(share * log(times[name, cluster].ns) for name, share in shares.items()))
        for cluster in clusters
    }
    order = sorted(clusters, key=lambda cluster: (means[cluster], cluster))
    rows = []
    for at, cluster in enumerate(order):
        mine = {name: times[name, cluster] for name in names}
        agree = sure = None
        if at + 1 < len(order):
            after = {name: times[name, order[at + 1]] for name in names}
            agree, sure = _agreement(shares, mine, after)
        large = tuple(name for name in names if name in too_large.get(cluster, ()))
        ratio = means[cluster] / means[order[0]]
        rows.append(Ranked(cluster, means[cluster], ratio, agree, sure, mine, large))
    return Ranking(tuple(rows), shares, refused)


def _agreement(
    shares: dict[str, float], fast: dict[str, Time], slow: dict[str, Time]
) -> tuple[float, float | None]:
    agree, apart, is_known = 0.0, 0.0, False
    for name, share in shares.items():
        high, low = fast[name].high_ns, slow[name].low_ns
        agree += share * _before(fast[name].ns, slow[name].ns)
        if high is not None and low is not None:
            is_known = True
            apart += share * (high < low)
    return agree, apart if is_known else None


def _before(fast: float, slow: float) -> float:
    return 0.5 if fast == slow else float(fast < slow)
