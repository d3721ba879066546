"""`yantra.life`: goodput of a training job over its days, what is lost, and what it costs.

    said = yantra.life("job.yaml", cluster="hgx-h100", gpus=16384, days=54)
    said.goodput, said.lost, said.spares, said.usd_per_million_tokens

Means are of all lives, so parts add up; intervals hold 90 % of lives.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from yantra.base.notebook import progress_line
from yantra.lives.best import Bought, bought, found
from yantra.lives.draws import DAY_NS, NS
from yantra.lives.energy import PHASES, widened
from yantra.lives.money import price_said
from yantra.lives.play import PARTS, Lives
from yantra.lives.policy import NEVER
from yantra.lives.question import Question, asked
from yantra.lives.ranges import Range, range_of
from yantra.result.energy import J_PER_KWH, Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.base.documents import Path

_POINT = 0.01


__all__ = ["Life", "life"]


class Life:
    """`lives` has the time of each life by part, in ns."""

    def __init__(self, question: Question) -> None:
        self.question = question
        """What was asked."""
        self.price = price_said(question.cluster, question.settings)
        """Of a device's hour."""
        self._events = question.events()
        self._found = found(question, self._events)
        self.policy = self._found.policy
        """What was chosen."""
        self.lives: Lives = self._found.lives
        """What was played."""

    @property
    def goodput(self) -> Range:
        """Useful share of the time."""
        return range_of(self.lives.useful / self.question.horizon)

    @property
    def lost(self) -> dict[str, float]:
        """Mean shares of the time, by part."""
        horizon = self.question.horizon
        parts = zip(PARTS, self.lives.parts(), strict=True)
        return {name: float(part.mean()) / horizon for name, part in parts if name != "useful"}

    @property
    def interruptions(self) -> Range:
        """Planned ones and evicted ranks among them."""
        return range_of(self.lives.counts.sum(axis=0).astype(float))

    @property
    def by_component(self) -> dict[str, float]:
        """Mean interruptions."""
        means = self.lives.counts.mean(axis=1)
        names = (one.name for one in self.question.rates.components)
        return {name: float(mean) for name, mean in zip(names, means, strict=True)}

    @property
    def mttf_h(self) -> Range | None:
        """None without interruptions."""
        met = self.interruptions
        if not met.low:
            return None
        hours = self.question.days * 24.0
        return Range(hours / met.mean, hours / met.high, hours / met.low)

    @property
    def interval_s(self) -> float | None:
        """Training between checkpoints, if any."""
        return None if self.policy.tau >= NEVER else self.policy.tau / NS

    @property
    def closed_interval_s(self) -> float | None:
        """The same by the closed form."""
        return None if self._found.closed is None else self._found.closed / NS

    @property
    def spares(self) -> int:
        """Hosts that wait."""
        return self.policy.spares

    @property
    def steps(self) -> Range:
        """Steps done."""
        return range_of(self._steps)

    @property
    def tokens(self) -> Range:
        """Tokens trained."""
        return range_of(self.tokens_of_lives)

    @property
    def tokens_of_lives(self) -> Any:
        """Tokens trained, of each."""
        return self._steps * self.question.job.tokens

    @property
    def mfu(self) -> Range | None:
        """Of the whole time."""
        step = self.question.job.mfu
        if step is None:
            return None
        return range_of(step * self.lives.useful / self.question.horizon / self._events.step)

    @property
    def device_hours(self) -> float:
        """With spare ones."""
        of = self.question
        devices = of.job.gpus + self.spares * of.rates.host_gpus
        return devices * of.days * DAY_NS / NS / 3600.0

    @property
    def usd(self) -> float | None:
        """None without a price."""
        hourly = self.price.usd_per_h
        return None if hourly is None else hourly * self.device_hours

    @property
    def usd_by_part(self) -> dict[str, float] | None:
        """By part of the time, and of spares."""
        hourly, of = self.price.usd_per_h, self.question
        if hourly is None:
            return None
        hours = of.job.gpus * of.days * 24.0
        shares = {"useful": self.goodput.mean} | self.lost
        spare = hourly * (self.device_hours - hours)
        return {name: hourly * hours * share for name, share in shares.items()} | {"spares": spare}

    @property
    def usd_per_million_tokens(self) -> Range | None:
        """Cost of tokens."""
        if self.usd is None or not self.question.job.tokens:
            return None
        return range_of(self.usd / np.maximum(self.tokens_of_lives, 1.0) * 1e6)

    @property
    def usd_per_point(self) -> Range | None:
        """What one more percentage point of MFU saves for the same tokens."""
        mfu = self.mfu
        if self.usd is None or mfu is None:
            return None
        ends = [self.usd * _POINT / (end + _POINT) for end in (mfu.mean, mfu.high, mfu.low)]
        return Range(*ends)

    @property
    def kwh(self) -> Range | None:
        """What the building draws, without what is unknown; None without a device's power."""
        each = self._kwh
        return None if each is None else widened(range_of(sum(each.values())))

    @property
    def kwh_by_part(self) -> dict[str, float] | None:
        """Means by part of the time, and of spares."""
        each = self._kwh
        return None if each is None else {name: float(np.mean(part)) for name, part in each.items()}

    @property
    def kwh_per_million_tokens(self) -> Range | None:
        """Of all, spares too."""
        each, tokens = self._kwh, self.question.job.tokens
        if each is None or not tokens:
            return None
        trained = np.maximum(self.tokens_of_lives, 1.0)
        return widened(range_of(sum(each.values()) / trained * 1e6))

    @property
    def power(self) -> tuple[Phase, ...]:
        """What the job's hosts draw: a step, a checkpoint, then what a failure brings, each time.

        All of them give the energy of a life without spare hosts.
        """
        of, draws = self.question, self.question.job.draws
        if draws is None:
            return ()
        named = zip(PARTS, self.lives.parts(), strict=True)
        spent = {name: float(part.mean()) / NS for name, part in named}
        each = {"useful": of.job.step / NS, "checkpoints": self.policy.block / NS}
        met = self.interruptions.mean
        found = []
        for name, phase in PHASES.items():
            seconds = each.get(name) or spent[name] / max(met, 1.0)
            if spent[name]:
                found.append(Phase(phase, seconds, draws.of(name), spent[name] / seconds))
        return tuple(found)

    @property
    def kg_co2(self) -> Range | None:
        """None without a grid."""
        kwh, draws = self.kwh, self.question.job.draws
        if kwh is None or draws is None or draws.grid_g_per_kwh is None:
            return None
        return Range(*(end * draws.grid_g_per_kwh / 1e3 for end in kwh))

    @cached_property
    def _kwh(self) -> dict[str, Any] | None:
        """Of each life."""
        of = self.question
        draws = of.job.draws
        if draws is None:
            return None
        named = zip(PARTS, self.lives.parts(), strict=True)
        each = {name: draws.of(name) * (part / NS) / J_PER_KWH for name, part in named}
        waits = draws.waiting_w * self.spares / of.job.hosts * of.horizon / NS / J_PER_KWH
        return each | {"spares": np.full(of.settings.lives, waits)}

    @cached_property
    def bought(self) -> list[Bought]:
        """What other policies give."""
        return bought(self.question, self._events, self._found)

    @cached_property
    def _steps(self) -> Any:
        return self.lives.useful / (self.question.job.step * self._events.step)

    def to_report(self, path: Path) -> None:
        """Write the page of `yantra life --report`."""
        from yantra.lives.page import write_page

        write_page(self, path)

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        from yantra.lives.words import as_dict

        return as_dict(self)

    def __repr__(self) -> str:
        from yantra.lives.words import lines

        return "\n".join(lines(self))


@progress_line("lives")
def life(
    job: Path | Mapping[str, Any],
    *,
    cluster: str,
    gpus: int,
    days: float,
    stack: str | None = None,
    rates: Path = "fleets",
    **settings: Any,
) -> Life:
    """Play the days of a training job, by its file or a mapping like one, on a cluster that fails.

    `settings` are those of `yantra life --set`, as numbers in s, B/s and USD or texts with units.
    Raises ConfigError for what does not fit, CapacityError for memory.
    """
    question = asked(job, cluster, gpus=gpus, days=days, stack=stack, rates=rates, **settings)
    return Life(question)
