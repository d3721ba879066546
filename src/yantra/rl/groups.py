"""Groups of samples, in columns: what a job generates, in the order in which groups are taken.

Trade-off: lengths are given, not drawn here; whoever draws them says from what.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, expected_got

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MOST_TOKENS = 2**31 - 1


class Turn(NamedTuple):
    """Tokens that a sample makes; the ticks of the tool behind them, and the tokens it says.

    What is behind the last turn does not count.
    """

    output: int
    delay: int = 0
    added: int = 0


class Turns(NamedTuple):
    """Columns of int64: sample s has the turns `begin[s]` to `begin[s + 1]`."""

    begin: np.ndarray
    output: np.ndarray
    delay: np.ndarray
    added: np.ndarray


class Group(NamedTuple):
    """A prompt and its samples."""

    prompt: int
    """Tokens of the prompt."""
    samples: Sequence[Sequence[Any]]
    """Tokens made, ticks of the reward and, if it has several, the turns, of each sample."""
    filtered: bool = False
    """Whether it is thrown away when its last reward is known, as all are equal."""


@dataclass(frozen=True)
class Groups:
    """Columns of int64: rows of `prompt` and `filtered` are groups, of the others samples.

    Group g has the samples `begin[g]` to `begin[g + 1]`.
    """

    prompt: np.ndarray
    """Tokens of the prompt."""
    begin: np.ndarray
    """First sample of each group, and the number of samples."""
    output: np.ndarray
    """Tokens that a sample makes."""
    reward: np.ndarray
    """Ticks that a server takes to reward a sample."""
    filtered: np.ndarray
    """1 for a group that is thrown away when its last reward is known."""
    turns: Turns | None = None
    """None: each sample has one."""

    @classmethod
    def of(cls, groups: Iterable[Any]) -> Groups:
        """Make columns of groups."""
        rows = [Group(*row) for row in groups]
        samples = [sample for at, row in enumerate(rows) for sample in _samples(at, row.samples)]
        return cls.columns(
            prompt=[row.prompt for row in rows],
            sizes=[len(row.samples) for row in rows],
            output=[sample[0] for sample in samples],
            reward=[sample[1] for sample in samples],
            filtered=[row.filtered for row in rows],
            turns=_turns_of(samples),
        )

    @classmethod
    def columns(
        cls,
        *,
        prompt: Any,
        sizes: Any,
        output: Any,
        reward: Any = 0,
        filtered: Any = False,
        turns: Sequence[Sequence[Turn]] | None = None,
    ) -> Groups:
        """Make groups of columns; one number of `prompt`, `reward` or `filtered` is that of all.

        `sizes` has the number of samples of each group. Raises ConfigError for columns of unlike
        length, and for numbers that are not whole or out of range.
        """
        many, made = _whole("sizes", sizes), _whole("output", output)
        groups = len(many)
        prompts, thrown = _whole("prompt", prompt, groups), _whole("filtered", filtered, groups)
        rewards = _whole("reward", reward, len(made))
        for name, column, length in (
            ("prompt", prompts, groups),
            ("filtered", thrown, groups),
            ("output", made, int(many.sum())),
            ("reward", rewards, len(made)),
        ):
            if len(column) != length:
                raise ConfigError(f"groups.{name}", expected_got(f"{length} numbers", len(column)))
        _check_range("groups.prompt", prompts, 1, _MOST_TOKENS)
        _check_range("groups.sizes", many, 1, _MOST_TOKENS)
        _check_range("groups.output", made, 1, _MOST_TOKENS)
        _check_range("groups.reward", rewards, 0, 2**62)
        begin = np.concatenate([[0], np.cumsum(many)])
        columns = None if turns is None else _columns(turns, made)
        return cls(prompts, begin, made, rewards, thrown, columns)

    def __len__(self) -> int:
        return len(self.prompt)

    @property
    def samples(self) -> int:
        """Of all groups."""
        return len(self.output)

    @property
    def tokens(self) -> np.ndarray:
        """Of prompt, output and tools, of each sample."""
        whole = np.asarray(self.prompt[self.group] + self.output)
        if self.turns is None:
            return whole
        last = self.turns.begin[1:] - 1
        added = np.add.reduceat(self.turns.added, self.turns.begin[:-1]) - self.turns.added[last]
        return np.asarray(whole + added)

    @property
    def group(self) -> np.ndarray:
        """The group of each sample."""
        return np.repeat(np.arange(len(self)), np.diff(self.begin))


def _samples(at: int, samples: Any) -> Sequence[Sequence[Any]]:
    where, form = f"groups[{at}].samples", "[tokens, ticks of the reward, turns if several]"
    if not isinstance(samples, list | tuple):
        raise ConfigError(where, expected_got(f"a list of {form}", samples))
    for number, sample in enumerate(samples):
        if not isinstance(sample, list | tuple) or not 2 <= len(sample) <= 3:
            raise ConfigError(f"{where}[{number}]", expected_got(form, sample))
        for turn in sample[2] if len(sample) > 2 else ():
            if not isinstance(turn, list | tuple) or not 1 <= len(turn) <= 3:
                form = "turns of [tokens, ticks of the tool, tokens it says]"
                raise ConfigError(f"{where}[{number}]", expected_got(form, turn))
    return samples


def _turns_of(samples: list[Sequence[Any]]) -> list[list[Turn]] | None:
    if all(len(sample) < 3 for sample in samples):
        return None
    return [
        [Turn(*turn) for turn in sample[2]] if len(sample) > 2 else [Turn(sample[0])]
        for sample in samples
    ]


def _columns(turns: Sequence[Sequence[Turn]], output: np.ndarray) -> Turns:
    many = np.array([len(several) for several in turns], np.int64)
    if len(many) != len(output) or (many < 1).any():
        problem = expected_got(f"some for each of {len(output)} samples", many.tolist())
        raise ConfigError("groups.turns", problem)
    flat = [turn for several in turns for turn in several]
    made, delay, added = (
        _whole(f"turns.{name}", [getattr(turn, name) for turn in flat]) for name in Turn._fields
    )
    _check_range("groups.turns.output", made, 1, _MOST_TOKENS)
    _check_range("groups.turns.delay", delay, 0, 2**62)
    _check_range("groups.turns.added", added, 0, _MOST_TOKENS)
    begin = np.concatenate([[0], np.cumsum(many)])
    sums = np.add.reduceat(made, begin[:-1])
    if (sums != output).any():
        at = int((sums != output).argmax())
        problem = f"turns of {output[at]} tokens, as the sample makes"
        raise ConfigError(f"groups.turns[{at}]", expected_got(problem, int(sums[at])))
    return Turns(begin, made, delay, added)


def _whole(name: str, column: Any, length: int | None = None) -> np.ndarray:
    values = np.asarray(column)
    if values.ndim == 0 and length is not None:
        values = np.broadcast_to(values, (length,))
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iub"):
        raise ConfigError(f"groups.{name}", expected_got("a list of whole numbers", column))
    return np.ascontiguousarray(values, np.int64)


def _check_range(where: str, column: np.ndarray, least: int, most: int) -> None:
    wrong = (column < least) | (column > most)
    if wrong.any():
        at = int(wrong.argmax())
        raise ConfigError(f"{where}[{at}]", expected_got(f"{least:,} to {most:,}", int(column[at])))
