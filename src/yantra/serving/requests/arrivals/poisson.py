"""Poisson arrivals: gaps are independent and exponential."""

from __future__ import annotations

from yantra.base.fields import Section
from yantra.base.records import Record
from yantra.serving.requests.arrivals.lengths import Rate
from yantra.serving.requests.arrivals.rule import Rule, at_rate
from yantra.serving.requests.types import Requests


class Options(Record):
    rate: float


class Poisson(Rule):
    options = Section(Options, {"rate": ("rate", Rate(), "requests a second")})

    def requests(self) -> Requests:
        gaps = self.arrivals.exponential(1 / self.given.rate, self.common.count)
        return self.made(at_rate(gaps, "poisson.rate"))


PLUGIN = Poisson
