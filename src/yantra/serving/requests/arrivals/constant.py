"""Constant arrivals: request i at i / rate, exactly."""

from __future__ import annotations

import numpy as np

from yantra.base.errors import ConfigError
from yantra.base.fields import Section
from yantra.base.records import Record
from yantra.serving.requests.arrivals.lengths import Rate
from yantra.serving.requests.arrivals.rule import Rule
from yantra.serving.requests.types import Requests


class Options(Record):
    rate: float


class Constant(Rule):
    """The first request comes at 0."""

    options = Section(Options, {"rate": ("rate", Rate(), "requests a second")})

    def requests(self) -> Requests:
        arrival = np.arange(self.common.count) * 1e9 / self.given.rate
        if arrival[-1] >= 2.0**62:
            raise ConfigError("constant.rate", "the last request arrives after more than 146 years")
        return self.made(np.rint(arrival).astype(np.int64))


PLUGIN = Constant
