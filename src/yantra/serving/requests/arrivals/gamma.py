"""Gamma arrivals: gaps with a coefficient of variation, above 1 for bursts, 1 for Poisson.

Source: Li et al., "AlpaServe", OSDI 2023, section 6: shape 1/cv^2, scale cv^2/rate.
"""

from __future__ import annotations

from yantra.base.fields import Number, Section
from yantra.base.records import Record
from yantra.serving.requests.arrivals.lengths import Rate
from yantra.serving.requests.arrivals.rule import Rule, at_rate
from yantra.serving.requests.types import Requests


class Options(Record):
    rate: float
    cv: float


class Gamma(Rule):
    options = Section(
        Options,
        {
            "rate": ("rate", Rate(), "requests a second"),
            "cv": ("cv", Number(above=0, at_most=100), "deviation of a gap over its mean"),
        },
    )

    def requests(self) -> Requests:
        squared = self.given.cv**2
        gaps = self.arrivals.gamma(1 / squared, squared / self.given.rate, self.common.count)
        return self.made(at_rate(gaps, "gamma.rate"))


PLUGIN = Gamma
