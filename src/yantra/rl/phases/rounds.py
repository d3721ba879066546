"""Rounds of sampling: groups of equal rewards are thrown away, and a full round is generated anew
until a step has its groups.

Source: dynamic sampling of NeMo-RL v0.5.0, nemo_rl/algorithms/grpo.py; Yu et al., DAPO, arXiv
2503.14476 (2025), section 3.2. Trade-off: groups are kept by one chance, apart from each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from yantra.base.errors import CapacityError, ConfigError, expected_got

_SURE = 1e-9
_WIDEST = 64.0
_LIMIT = 10_000


class Rounds(NamedTuple):
    """How synchronous steps sample."""

    over: float = 1.0
    """Groups of a round, over those of a step."""
    most: int = 0
    """Rounds after which a framework gives up; 0: never."""

    def check(self, waits: bool, mode: str) -> None:
        """Raise ConfigError for what cannot be."""
        where = "--set oversampling"
        if not 0 < self.over <= _WIDEST:
            raise ConfigError(where, expected_got(f"above 0, to {_WIDEST:g}", self.over))
        if not waits and self != Rounds():
            problem = f"{mode} replaces groups one by one, as they end; leave oversampling and"
            raise ConfigError(where, f"{problem} most_rounds out, or take sync")

    def groups(self, prompts: int) -> int:
        """Of a round."""
        return max(int(prompts * self.over), 1)

    def expected(self, prompts: int, thrown: float) -> float:
        """Mean rounds of the steps that get their groups.

        Raises CapacityError where most steps do not.
        """
        each, mean, before, number = self.groups(prompts), 0.0, 0.0, 0
        while before < 1 - _SURE and number < (self.most or _LIMIT):
            number += 1
            filled = at_least(prompts, number * each, 1 - thrown)
            mean += number * (filled - before)
            before = filled
        if before < 0.5:
            kept = number * each * (1 - thrown)
            raise CapacityError(
                "--set most_rounds",
                f"{number} rounds of {each} groups keep {kept:.3g} in the mean, a step takes "
                f"{prompts}; give more rounds, or more oversampling",
            )
        return mean / before


def at_least(least: int, trials: int, chance: float) -> float:
    """The chance of so many of the trials, each by that chance (the binomial's upper tail)."""
    if trials < least:
        return 0.0
    if chance >= 1:
        return 1.0
    below = np.arange(least - 1)
    steps = np.log((trials - below) / (below + 1)) + np.log(chance) - np.log1p(-chance)
    logs = trials * np.log1p(-chance) + np.concatenate([[0.0], np.cumsum(steps)])
    return float(min(max(1 - np.exp(logs).sum(), 0.0), 1.0))
