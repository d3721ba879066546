"""All requests at 0: a batch, or the rollouts of a step of reinforcement learning.

`samples` outputs are drawn for each prompt, which share it whole, as in GRPO (Shao et al.,
"DeepSeekMath", 2024, section 4.1).
"""

from __future__ import annotations

import numpy as np

from yantra.base.errors import ConfigError
from yantra.base.fields import Section, Whole
from yantra.base.records import Record
from yantra.serving.requests.arrivals.rule import Rule
from yantra.serving.requests.types import Requests


class Options(Record):
    samples: int = 1


class AtOnce(Rule):
    """`count` requests, in groups of `samples` with one prompt."""

    options = Section(
        Options, {"samples": ("samples", Whole(at_least=1), "requests for each prompt")}
    )

    def requests(self) -> Requests:
        count, samples = self.common.count, self.given.samples
        if samples == 1:
            return self.made(np.zeros(count, np.int64))
        if count % samples:
            problem = f"expected a divisor of the {count} requests, got {samples}"
            raise ConfigError("at_once.samples", problem)
        prompt, output = self.lengths(count)
        prompt, group = np.repeat(prompt[::samples], samples), np.arange(count) // samples
        system = self.common.system
        per_request = 2 if system else 1
        source = np.stack([np.zeros(count, np.int64), group + 1], axis=1)[:, -per_request:]
        end = np.stack([np.full(count, system), prompt + system], axis=1)[:, -per_request:]
        start = np.arange(count + 1) * per_request
        return Requests.of(
            np.zeros(count, np.int64),
            prompt + system,
            output,
            limit=self.limit(output),
            spans=(start, source.ravel(), end.ravel()),
        )


PLUGIN = AtOnce
