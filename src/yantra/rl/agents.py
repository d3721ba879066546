"""Turns of agents: a sample makes tokens, waits for a tool, and reads what the tool says.

Trade-off: a rule gives all samples as many turns, of equal parts; a file gives each its own.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, expected_got
from yantra.base.units import parse
from yantra.rl.groups import Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

_PS = 1e12
_KEYS = ("output", "delay", "added")
_MOST_SECONDS = 1e6


class Turns(NamedTuple):
    """Columns: sample s has the turns `begin[s]` to `begin[s + 1]`; behind the last is no tool."""

    begin: np.ndarray
    output: np.ndarray
    delay_s: np.ndarray
    added: np.ndarray

    @classmethod
    def of(cls, samples: Sequence[Sequence[tuple[int, float, int]]]) -> Turns:
        """Make columns of (tokens, seconds of the tool, tokens that it says)."""
        begin = np.concatenate([[0], np.cumsum([len(one) for one in samples])])
        flat = [turn for one in samples for turn in one]
        output, delay, added = (np.array([turn[at] for turn in flat]) for at in range(3))
        last = begin[1:] - 1
        delay, added = delay.astype(float), added.astype(np.int64)
        delay[last], added[last] = 0.0, 0
        return cls(begin, output.astype(np.int64), delay, added)

    def take(self, rows: np.ndarray) -> Turns:
        """Those of some samples, in that order."""
        many = np.diff(self.begin)[rows]
        begin = np.concatenate([[0], np.cumsum(many)])
        at = np.arange(begin[-1]) - np.repeat(begin[:-1], many) + np.repeat(self.begin[rows], many)
        return Turns(begin, self.output[at], self.delay_s[at], self.added[at])

    @property
    def said(self) -> np.ndarray:
        """Tokens that tools say to each sample."""
        return np.asarray(np.add.reduceat(self.added, self.begin[:-1]))

    def ticks(self) -> list[list[Turn]]:
        """Turns of each sample as the loop has them, in ps."""
        delay = np.rint(self.delay_s * _PS).astype(np.int64)
        columns = zip(self.output.tolist(), delay.tolist(), self.added.tolist(), strict=True)
        flat = [Turn(*one) for one in columns]
        begin = self.begin.tolist()
        return [flat[low:high] for low, high in pairwise(begin)]


def split(output: np.ndarray, turns: int, delay_s: float, added: int) -> Turns:
    """Cut each sample into so many equal turns, or as many as it has tokens."""
    many = np.minimum(output, turns)
    begin = np.concatenate([[0], np.cumsum(many)])
    at = np.arange(begin[-1]) - np.repeat(begin[:-1], many)
    whole, parts = np.repeat(output, many), np.repeat(many, many)
    made = (at + 1) * whole // parts - at * whole // parts
    delays, said = np.full(len(at), delay_s), np.full(len(at), added)
    delays[begin[1:] - 1], said[begin[1:] - 1] = 0.0, 0
    return Turns(begin, made, delays, said)


def turns_of(given: Any, where: str) -> list[tuple[int, float, int]]:
    """Read the turns of a sample of a file: `{"output": 90, "delay": 1.5, "added": 300}`.

    A delay is in seconds, or has a unit. Raises ConfigError.
    """
    if not isinstance(given, list) or not given:
        raise ConfigError(where, expected_got("a list of turns", given))
    return [_turn(one, f"{where}[{number}]") for number, one in enumerate(given)]


def _turn(given: Any, where: str) -> tuple[int, float, int]:
    if not isinstance(given, dict) or set(given) - set(_KEYS):
        raise ConfigError(where, expected_got(f"an object of {', '.join(_KEYS)}", given))
    output = _tokens(given.get("output"), 1, f"{where}.output")
    added = _tokens(given.get("added", 0), 0, f"{where}.added")
    delay = given.get("delay", 0)
    if isinstance(delay, str):
        delay = parse(delay, "time", "s", f"{where}.delay")
    if type(delay) not in (int, float) or not 0 <= delay <= _MOST_SECONDS:
        raise ConfigError(f"{where}.delay", expected_got("seconds from 0", delay))
    return output, float(delay), added


def _tokens(given: Any, least: int, where: str) -> int:
    if type(given) is not int or not least <= given <= 10**8:
        raise ConfigError(where, expected_got(f"tokens from {least}", given))
    return given
