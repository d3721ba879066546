"""What iterations and phases of the trainer take, in whole ticks.

Trade-off: a phase sees the sum of its samples' tokens and the sum of their squares, so packing that
depends on single lengths belongs into the numbers of a `Curve`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from yantra import _core
from yantra.base.errors import ConfigError, expected_got
from yantra.rl.checks import is_whole

A_TICK = "an iteration of at least a tick"


class Ticks(NamedTuple):
    """An iteration of a replica takes so many ticks, and so many a token and a token of context.

    In its place a job takes `yantra.serving.Linear` and measured tables
    (`yantra.serving.speeds.Measured`), whose ticks are picoseconds.
    """

    per_iteration: int
    """Ticks, whatever is in it."""
    per_token: int = 0
    """Ticks for each token that it works on."""
    per_context_token: int = 0
    """Ticks for each token whose KV a sequence then has."""

    def core(self, factor: float = 1.0) -> Any:
        """It as the core has it, `factor` times as long."""
        return _core.linear_cost(*(round(value * factor) for value in self))

    def check(self, where: str) -> None:
        """Raise ConfigError at `where` unless all are whole numbers from 0, and one above it."""
        for name, value in self._asdict().items():
            if not is_whole(value):
                raise ConfigError(f"{where}.{name}", expected_got("whole ticks from 0", value))
        if not any(self):
            raise ConfigError(where, f"takes no time; expected {A_TICK}")


class Law(NamedTuple):
    """A phase takes `base + per_token * tokens + per_square * squares` ticks.

    Tokens are the prompt's and the output's of each sample, squares those of each sample.
    """

    base: int = 0
    """Ticks of each phase."""
    per_token: int = 0
    """Ticks for each token."""
    per_square: int = 0
    """Ticks for each square of a sample's tokens."""

    def core(self) -> Any:
        """It as the core has it."""
        return _core.linear_law(*self)

    def check(self, where: str) -> None:
        """Raise ConfigError at `where` unless all are whole numbers from 0."""
        for name, value in self._asdict().items():
            if not is_whole(value):
                raise ConfigError(f"{where}.{name}", expected_got("whole ticks from 0", value))


class Curve(NamedTuple):
    """A phase takes a time by tokens, linear between knots and beyond them.

    The whole is rounded to the nearest tick.
    """

    tokens: tuple[int, ...]
    """Knots, ascending: the sum of all samples' tokens."""
    ticks: tuple[float, ...]
    """What the phase takes at each."""
    per_square: float = 0.0
    """Ticks beside it for each square of a sample's tokens."""

    def core(self) -> Any:
        """It as the core has it."""
        import numpy as np

        knots, values = (np.asarray(column, float) for column in (self.tokens, self.ticks))
        return _core.curve_law(knots, values, float(self.per_square))

    def check(self, where: str) -> None:
        """Raise ConfigError at `where` for knots that do not rise, or a time below 0."""
        knots = list(self.tokens)
        if not knots or len(knots) != len(self.ticks):
            problem = f"{len(self.tokens)} tokens and {len(self.ticks)} ticks"
            raise ConfigError(where, f"expected a time for each of some knots, got {problem}")
        if sorted(set(knots)) != knots or knots[0] < 0:
            raise ConfigError(f"{where}.tokens", expected_got("rising knots from 0", knots))
        for name, values in (("ticks", self.ticks), ("per_square", (self.per_square,))):
            if not all(0 <= value < 2**62 for value in values):
                raise ConfigError(f"{where}.{name}", expected_got("times from 0", list(values)))
