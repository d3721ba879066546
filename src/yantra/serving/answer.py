"""What a fleet served: figures with their interval, why requests waited, cost and energy."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.fabric.clusters.ownership import usd_per_h
from yantra.serving.fleet import OBSTACLES, PHASES, PS
from yantra.serving.measures import (
    PERCENTILES,
    Objective,
    Spread,
    is_overloaded,
    kept,
    spread,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.base.documents import Path
    from yantra.result import Table
    from yantra.serving.blocks import Room
    from yantra.serving.fleet import Fleet, Ran
    from yantra.serving.serve import Question

_HOUR = 3600.0


class Served(NamedTuple):
    """The answer; `ends` are the runs with the shortest and the longest iterations of 90 in 100."""

    question: Question
    """What was asked."""
    fleet: Fleet
    """Its replicas, as they ran."""
    rooms: tuple[Room | None, ...]
    """What KV each pool has room for, and why; None for a given cost."""
    ran: Ran
    """Every request's times, by column."""
    ends: tuple[Ran, ...] | None
    """The same with the shortest and the longest iterations; None without an interval."""

    @property
    def ttft(self) -> Spread:
        """Time to the first token, in s."""
        return spread(self.ran.ttft_s)

    @property
    def tpot(self) -> Spread:
        """Time per output token, in s."""
        return spread(self.ran.tpot_s)

    @property
    def itl(self) -> Spread:
        """Gaps between tokens, in s."""
        return spread(*self.ran.gaps_s)

    @property
    def e2e(self) -> Spread:
        """Time from arrival to the last token, in s."""
        return spread(self.ran.e2e_s)

    def interval(self, measure: str, percentile: float | None = None) -> tuple[float, float] | None:
        """The 90 % interval of a percentile (None: mean) of a measure, in s, if any."""
        if self.ends is None:
            return None
        # Shorter iterations can make some wait longer, as batches form otherwise.
        found = [_of(ran, measure, percentile) for ran in (self.ran, *self.ends)]
        return min(found), max(found)

    @property
    def requests_per_s(self) -> float:
        """Requests that ended, by the time from the first arrival to the last token."""
        return len(self.ran.requests) / self.ran.makespan_s

    @property
    def output_tokens_per_s(self) -> float:
        """Tokens emitted, by the same time."""
        return float(self.ran.core.emitted) / self.ran.makespan_s

    @property
    def devices(self) -> int:
        """Of all replicas."""
        return sum(pool.devices * pool.replicas for pool in self.fleet.pools)

    def goodput(self, objectives: Sequence[Objective]) -> float:
        """Return requests per second that keep every objective."""
        return float(kept(self.ran, objectives).sum()) / self.ran.makespan_s

    @property
    def is_overloaded(self) -> bool:
        """Whether requests come faster than they leave."""
        return is_overloaded(self.ran)

    @property
    def there_s(self) -> np.ndarray:
        """Seconds from the first arrival on for which each replica is there."""
        begin = int(self.ran.column("arrival").min())
        return np.asarray(np.minimum(self.ran.column("replica_up"), self.ran.core.end - begin) / PS)

    @property
    def device_s(self) -> float:
        """Seconds for which devices are there, summed; less where replicas come and go."""
        each = [pool.devices for pool in self.fleet.pools for _ in range(pool.replicas)]
        return float((self.there_s * np.array(each)).sum())

    @property
    def cost_usd(self) -> float | None:
        """What all devices cost for the time of the run; None without a price."""
        cluster = self.question.cluster
        hourly = None if cluster is None else usd_per_h(cluster)
        return None if hourly is None else hourly * self.device_s / _HOUR

    @property
    def energy_j(self) -> float | None:
        """What all devices draw; None without a power law."""
        pools = self.fleet.pools
        if any(getattr(pool.cost, "power", None) is None for pool in pools):
            return None
        costs = [pool.cost for pool in pools for _ in range(pool.replicas)]
        each = [pool.devices for pool in pools for _ in range(pool.replicas)]
        worked = self.ran.column("replica_operations")
        heavy = self.ran.column("replica_heavy_ns")
        return sum(
            float(cost.joules(float(o), float(h), float(s))) * devices
            for cost, devices, o, h, s in zip(costs, each, worked, heavy, self.there_s, strict=True)
        )

    @property
    def energy_interval(self) -> tuple[float, float] | None:
        """The 90 % interval of the joules of a million tokens."""
        joules = self.per_million_tokens(self.energy_j)
        if joules is None:
            return None
        wide = exp(max(pool.cost.joules_width for pool in self.fleet.pools))
        return joules / wide, joules * wide

    def per_million_tokens(self, amount: float | None) -> float | None:
        """Return an amount by a million tokens emitted."""
        return None if amount is None else amount / self.ran.core.emitted * 1e6

    @property
    def spent(self) -> dict[str, float]:
        """Mean seconds of a request in each phase; they add up to the mean E2E."""
        return dict(zip(PHASES, self.ran.spent_s.mean(axis=0).tolist(), strict=True))

    @property
    def behind(self) -> dict[str, float]:
        """Mean seconds for which a request had not started, by what held the first that waited."""
        return dict(zip(OBSTACLES, self.ran.behind_s.mean(axis=0).tolist(), strict=True))

    def as_dict(self) -> dict[str, Any]:
        """Return plain values; times in s."""
        measures = {
            name: {
                "mean": of.mean,
                **{f"p{p:g}": value for p, value in zip(PERCENTILES, of.percentiles, strict=True)},
                "max": of.most,
            }
            for name, of in self._spreads().items()
        }
        intervals = {
            name: {
                key: self.interval(name, p)
                for key, p in (("mean", None), *((f"p{p:g}", p) for p in PERCENTILES))
            }
            for name in measures
            if self.ends is not None
        }
        return {
            "requests": len(self.ran.requests),
            "devices": self.devices,
            "makespan_s": self.ran.makespan_s,
            "requests_per_s": self.requests_per_s,
            "output_tokens_per_s": self.output_tokens_per_s,
            "overloaded": self.is_overloaded,
            "seconds": measures,
            "interval_90": intervals,
            "spent_s": self.spent,
            "behind_s": self.behind,
            "preemptions": int(self.ran.column("restarts").sum()),
            "recomputed_tokens": int(self.ran.column("recomputed").sum()),
            "cached_tokens": int(self.ran.column("cached").sum()),
            "iterations": int(self.ran.column("replica_iterations").sum()),
            "usd_per_million_tokens": self.per_million_tokens(self.cost_usd),
            "j_per_million_tokens": self.per_million_tokens(self.energy_j),
            "j_per_million_tokens_90": self.energy_interval,
            "kv": [None if room is None else room.words() for room in self.rooms],
            "rests_on": self.rests_on,
        }

    @property
    def rests_on(self) -> str:
        """What the times rest on."""
        texts = [getattr(pool.cost, "rests_on", "the given cost") for pool in self.fleet.pools]
        return "; ".join(dict.fromkeys(texts))

    def sampled(self) -> Ran:
        """The run with samples of its load; it runs again if it had none."""
        if len(self.ran.column("sample_time")):
            return self.ran
        return self.fleet.run(self.question.requests, samples=True)

    @property
    def table(self) -> Table:
        """A row for each request, in s from the first arrival; those of the CSV of `serve -o`."""
        from yantra.serving.views import table

        return table(self)

    def to_pandas(self) -> Any:
        """The rows of `table` as a `pandas.DataFrame`."""
        return self.table.to_pandas()

    def plot(self, objectives: Sequence[Objective] = ()) -> Any:
        """A figure of matplotlib: the share of requests within each time, by measure."""
        from yantra.serving.views import figure

        return figure(self, objectives)

    def to_report(self, path: Path, objectives: Sequence[Objective] = ()) -> None:
        """Write one HTML file that opens offline; it appears whole or not at all."""
        from yantra.serving.page import write_page

        write_page(self, path, objectives)

    def to_trace(self, path: Path) -> list[str]:
        """Write a timeline (`.pftrace`, `.json`; with `.gz`); return what it leaves out.

        Raises ConfigError for other names.
        """
        from yantra.serving.trace import write_trace

        return write_trace(self, path)

    def summary(self, objectives: Sequence[Objective] = ()) -> str:
        """Return the answer in lines."""
        from yantra.serving.words import lines

        return "\n".join(lines(self, objectives))

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from yantra.serving.views import html

        return html(self)

    def _spreads(self) -> dict[str, Spread]:
        return {"ttft": self.ttft, "tpot": self.tpot, "itl": self.itl, "e2e": self.e2e}


def _of(ran: Ran, measure: str, percentile: float | None) -> float:
    if measure == "itl":
        of = spread(*ran.gaps_s)
    else:
        of = spread({"ttft": ran.ttft_s, "tpot": ran.tpot_s, "e2e": ran.e2e_s}[measure])
    return of.mean if percentile is None else of.at(percentile)
