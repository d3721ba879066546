"""The field `cluster.failures`: what fails, when, for how long.

failures:
- {switch: spine 1, at: 30 us, for: 50 us}
- {nic: 3, to: leaf 0, at: 10 us, for: 1 us, every: 5 us, times: 20}
- {link: [leaf 0, spine 0], at: 0 us, keeps: 0.5}
- {ranks: 0-7, slower: 1.3, at: 1 ms, for: 10 ms}
- {switch: spine, rate: 1 per 1000 h, for: 10 min, seed: 7}
"""

from __future__ import annotations

from typing import Any

from yantra.base import units
from yantra.base.errors import ConfigError, expected_got
from yantra.base.fields import Field, Many, Number, Quantity, Schema, Section, Text, Whole
from yantra.scenario.disturbances import Failure
from yantra.scenario.fields import Ranks, check_repeats

_WHATS = ("switch", "nic", "link", "ranks")
_LARGEST_SEED = 2**63 - 1


class RateField(Field):
    """A failure rate, `1 per 1000 h`, held as mean ns between failures."""

    expected = "a rate such as 1 per 1000 h"
    _time = Quantity("time", "ns", above=0)

    def read(self, tree: Any, where: str, folder: str) -> float:
        words = tree.split(None, 2) if isinstance(tree, str) else []
        try:
            count = float(words[0]) if len(words) == 3 and words[1] == "per" else 0.0
        except ValueError:
            count = 0.0
        if not 0.0 < count < float("inf"):
            raise ConfigError(where, expected_got(self.expected, tree))
        time = words[2] if words[2][:1].isdigit() else f"1 {words[2]}"
        mean_ns = self._time.read(time, where, folder) / count
        self.check(mean_ns, where)
        return mean_ns

    def check(self, value: Any, where: str) -> None:
        self._time.check(value, where)

    def write(self, value: float, folder: str) -> str:
        return f"1 per {units.exact(value, 'ns')}"

    def schema(self) -> Schema:
        return {"type": "string", "pattern": r"^\s*[0-9.eE+-]+\s+per\s+.+$"}


class EndsField(Field):
    """Two devices, or tiers, that cables join."""

    expected = "two devices, such as [leaf 0, spine 1]"
    _name = Text()

    def read(self, tree: Any, where: str, folder: str) -> tuple[str, ...]:
        if not isinstance(tree, list):
            raise ConfigError(where, expected_got(self.expected, tree))
        ends = tuple(
            self._name.read(str(end) if type(end) is int else end, f"{where}[{at}]", folder)
            for at, end in enumerate(tree)
        )
        self.check(ends, where)
        return ends

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, tuple) or len(value) != 2:
            raise ConfigError(where, expected_got(self.expected, value))
        for at, end in enumerate(value):
            self._name.check(end, f"{where}[{at}]")

    def write(self, value: tuple[str, ...], folder: str) -> list[str]:
        return list(value)

    def schema(self) -> Schema:
        return {"type": "array", "items": {"type": ["string", "integer"]}, "minItems": 2}


class FailureSection(Section):
    """A failure, whose keys go together."""

    def read(self, tree: Any, where: str, folder: str) -> Any:
        failure = super().read(tree, where, folder)
        _check_together(failure, where)
        return failure

    def check(self, value: Any, where: str) -> None:
        super().check(value, where)
        _check_together(value, where)


def _check_together(failure: Failure, where: str) -> None:
    whats = [name for name in _WHATS if getattr(failure, name) is not None]
    if len(whats) != 1:
        got = f"got {' and '.join(whats)}" if whats else "got none"
        raise ConfigError(
            where, f"expected one of {', '.join(_WHATS)}, which says what fails; {got}"
        )
    is_slow = failure.ranks is not None
    if is_slow != (failure.slower is not None):
        problem = "missing; expected how many times as slow" if is_slow else "only with ranks"
        raise ConfigError(f"{where}.slower", problem)
    if is_slow and failure.keeps:
        raise ConfigError(f"{where}.keeps", "only for links; ranks are slower")
    if failure.to is not None and failure.nic is None:
        raise ConfigError(f"{where}.to", "only with nic, whose port it is")
    if (failure.at_ns is None) == (failure.mean_ns is None):
        problem = "expected one of at and rate, which say when"
        raise ConfigError(where, f"{problem}; got {'none' if failure.at_ns is None else 'both'}")
    _check_times(failure, where)


def _check_times(failure: Failure, where: str) -> None:
    if failure.mean_ns is not None:
        if failure.for_ns is None:
            problem = "missing; a failure by rate needs the time that its repair takes"
            raise ConfigError(f"{where}.for", problem)
        if failure.every_ns is not None or failure.times != 1:
            raise ConfigError(f"{where}.every", "only with at; a rate says how often")
        return
    if failure.seed:
        raise ConfigError(f"{where}.seed", "only with rate, which draws by it")
    check_repeats(failure.every_ns, failure.times, where)
    if failure.every_ns is not None and not (
        failure.for_ns is not None and failure.for_ns < failure.every_ns
    ):
        raise ConfigError(f"{where}.for", "expected less than every, so that it returns in between")


_TIME = Quantity("time", "ns", at_least=0)
_SPAN = Quantity("time", "ns", above=0)
FAILURE = FailureSection(
    Failure,
    {
        "switch": ("switch", Text(), "a switch, or all of a tier: spine"),
        "nic": ("nic", Ranks(), "ranks whose links all fail"),
        "link": ("link", EndsField(), "the cables between two devices, or two tiers; both ways"),
        "ranks": ("ranks", Ranks(), "ranks that compute more slowly"),
        "to": ("to", Text(), "of a nic: only the port to this device"),
        "at": ("at_ns", _TIME, "when it begins"),
        "rate": ("mean_ns", RateField(), "how often each part fails, in place of at"),
        "for": ("for_ns", _SPAN, "how long it lasts; to the end if left out"),
        "every": ("every_ns", _SPAN, "if it flaps: time from one start to the next"),
        "times": ("times", Whole(at_least=1, at_most=1_000_000), "if it flaps: how many times"),
        "keeps": (
            "keeps",
            Number(at_least=0, at_most=1),
            "share of the rate that links keep meanwhile; 0 is down",
        ),
        "slower": ("slower", Number(above=0), "of ranks: how many times as long a kernel takes"),
        "seed": ("seed", Whole(at_least=0, at_most=_LARGEST_SEED), "of the random draws by a rate"),
    },
)
FAILURES = Many(FAILURE)
