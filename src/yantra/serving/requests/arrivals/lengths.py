"""How long prompts and outputs are: fixed, drawn from a distribution, or from a trace.

A distribution is given by its mean and 99th percentile, which is what people know of theirs. Of a
lognormal with mean m and percentile q, `sigma = z - sqrt(z^2 - 2 ln(q / m))` and `mu = ln m -
sigma^2 / 2`, z = 2.326 being the normal's 99th percentile: from m = exp(mu + sigma^2 / 2) and q =
exp(mu + z sigma).
"""

from __future__ import annotations

import math
import re
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, expected_got, hint
from yantra.base.fields import Field, Schema
from yantra.serving.requests.types import MOST_TOKENS

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Z = NormalDist().inv_cdf(0.99)
_KINDS = ("fixed", "lognormal", "normal", "uniform")
_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")


class Drawn(NamedTuple):
    kind: str
    mean: float
    p99: float

    def draw(self, generator: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Return so many lengths, at least 1."""
        if self.kind == "fixed":
            return np.full(count, round(self.mean), np.int64)
        if self.kind == "uniform":
            return generator.integers(int(self.mean), int(self.p99) + 1, count)
        if self.kind == "normal":
            drawn = generator.normal(self.mean, (self.p99 - self.mean) / _Z, count)
        else:
            sigma = _Z - math.sqrt(_Z**2 - 2 * math.log(self.p99 / self.mean))
            mu = math.log(self.mean) - sigma**2 / 2
            drawn = np.exp(generator.normal(mu, sigma, count))
        return np.clip(np.rint(drawn), 1, MOST_TOKENS).astype(np.int64)


class Length(Field):
    """A number of tokens, or a distribution: `1024`, `lognormal:1024:4096`."""

    expected = 'tokens such as 1024, or "lognormal:1024:4096" by mean and p99'

    def read(self, tree: Any, where: str, folder: str) -> Drawn:
        if isinstance(tree, int | float) and not isinstance(tree, bool):
            drawn = Drawn("fixed", float(tree), float(tree))
        elif isinstance(tree, str):
            kind, *numbers = tree.split(":")
            if kind not in _KINDS:
                raise ConfigError(where, expected_got(self.expected, tree) + hint(kind, _KINDS))
            if len(numbers) != (1 if kind == "fixed" else 2) or not all(
                _NUMBER.fullmatch(number) for number in numbers
            ):
                raise ConfigError(where, expected_got(self.expected, tree))
            drawn = Drawn(kind, float(numbers[0]), float(numbers[-1]))
        else:
            raise ConfigError(where, expected_got(self.expected, tree))
        self.check(drawn, where)
        return drawn

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, Drawn):
            raise ConfigError(where, expected_got(self.expected, value))
        kind, mean, p99 = value
        if not 1 <= mean <= p99 <= MOST_TOKENS:
            names = "least and most" if kind == "uniform" else "mean and p99"
            wanted = f"a rising {names} from 1 to {MOST_TOKENS} tokens"
            if kind == "fixed":
                wanted = f"from 1 to {MOST_TOKENS} tokens"
            raise ConfigError(where, expected_got(wanted, self.write(value, "")))
        if kind in ("fixed", "uniform") and not (mean.is_integer() and p99.is_integer()):
            raise ConfigError(where, expected_got("whole tokens", self.write(value, "")))
        most = math.exp(_Z**2 / 2)
        if kind == "lognormal" and p99 > mean * most:
            wanted = f"a p99 of at most {most:.2f} times the mean, as a lognormal has"
            raise ConfigError(where, expected_got(wanted, self.write(value, "")))

    def write(self, value: Drawn, folder: str) -> Any:
        kind, mean, p99 = value
        return f"{mean:g}" if kind == "fixed" else f"{kind}:{mean:g}:{p99:g}"

    def schema(self) -> Schema:
        return {"type": ["integer", "string"]}


class Rate(Field):
    """Events a second: a number, or one with a time: `10`, `10/s`, `600/min`."""

    expected = 'a rate such as "10/s"'
    _per_s = {"s": 1.0, "min": 60.0, "h": 3600.0}  # noqa: RUF012

    def read(self, tree: Any, where: str, folder: str) -> float:
        rate, unit = tree, "s"
        if isinstance(tree, str):
            number, _, unit = (part.strip() for part in tree.partition("/"))
            is_number = re.fullmatch(r"[0-9]+(\.[0-9]*)?([eE]-?[0-9]{1,2})?", number)
            if not is_number or unit not in self._per_s:
                raise ConfigError(where, expected_got(f"{self.expected}, /min or /h", tree))
            rate = float(number)
        self.check(rate, where)
        return float(rate) / self._per_s[unit]

    def check(self, value: Any, where: str) -> None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 1e-6 <= value <= 1e9:
            raise ConfigError(where, expected_got(f"{self.expected}, from 1e-6 to 1e9", value))

    def write(self, value: float, folder: str) -> Any:
        return f"{value:g}/s"

    def schema(self) -> Schema:
        return {"type": ["number", "string"]}
