"""What a rule of arrivals is: its options, and the requests that follow from them and a seed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from yantra.base.errors import ConfigError, expected_got, hint
from yantra.base.fields import Number, Section, Text, Whole
from yantra.base.records import Record
from yantra.serving.requests.arrivals.lengths import Drawn, Length
from yantra.serving.requests.types import MOST_TOKENS, Requests

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Column = NDArray[np.int64]

MOST_REQUESTS = 50_000_000
"""The longest list: 100 bytes for each request."""


class Common(Record):
    """What all rules take."""

    count: int
    isl: Drawn | None = None
    osl: Drawn | None = None
    like: str | None = None
    system: int = 0
    limit: int = 0
    adapters: int = 0
    adapters_zipf: float = 0.0
    seed: int = 0


COMMON = Section(
    Common,
    {
        "count": ("count", Whole(1, MOST_REQUESTS), "requests; of sessions, how many of them"),
        "isl": ("isl", Length(), "tokens of a prompt; of a session, those that a turn adds"),
        "osl": ("osl", Length(), "tokens of an output"),
        "like": ("like", Text(), "a trace whose pairs of lengths are drawn instead"),
        "system": ("system", Whole(0, MOST_TOKENS), "tokens that all prompts begin with, on top"),
        "limit": ("limit", Whole(0, MOST_TOKENS), "what the scheduler knows, if above the output"),
        "adapters": (
            "adapters",
            Whole(0, 2**31 - 2),
            "low-rank adapters of weights; each request, or session, has one of them",
        ),
        "adapters_zipf": (
            "adapters_zipf",
            Number(at_least=0, at_most=10),
            "how unequal they are: the n-th is drawn as often as n to minus that",
        ),
        "seed": ("seed", Whole(0), "equal seeds give equal requests"),
    },
)


class Rule(ABC):
    options: ClassVar[Section]

    def __init__(self, given: Any, common: Common) -> None:
        self.given = given
        self.common = common
        streams = np.random.SeedSequence(common.seed).spawn(4)
        self.arrivals, self._prompts, self._outputs, self.others = (
            np.random.Generator(np.random.PCG64(stream)) for stream in streams
        )

    @abstractmethod
    def requests(self) -> Requests:
        """Return the requests."""

    def lengths(self, count: int) -> tuple[Column, Column]:
        common = self.common
        if common.like:
            from yantra.serving.requests.reading import read

            trace = read(common.like)
            drawn = self._prompts.integers(0, len(trace), count)
            return trace.prompt[drawn], trace.output[drawn]
        if common.isl is None or common.osl is None:  # `requests_by` has checked
            raise AssertionError
        return common.isl.draw(self._prompts, count), common.osl.draw(self._outputs, count)

    def made(self, arrival_ns: Column, **columns: Any) -> Requests:
        prompt, output = self.lengths(len(arrival_ns))
        system = self.common.system
        spans = None
        if system:
            ones = np.ones(len(prompt), np.int64)
            spans = (np.arange(len(prompt) + 1), 0 * ones, system * ones)
        return Requests.of(
            arrival_ns, prompt + system, output, limit=self.limit(output), spans=spans, **columns
        )

    def limit(self, output: Column) -> Column:
        """Return what a scheduler knows of outputs."""
        return np.maximum(output, self.common.limit)


def requests_by(found: type[Rule], options: Mapping[str, Any], where: str) -> Requests:
    own, common = found.options.entries, COMMON.entries
    for key in options:
        if key not in own and key not in common:
            raise ConfigError(f"{where}.{key}", f"unknown option{hint(key, (*own, *common))}")
    shared = {key: value for key, value in options.items() if key in common}
    given = COMMON.read(shared, where, "")
    both = [key for key in ("isl", "osl") if key in options]
    if given.like and both:
        raise ConfigError(f"{where}.{both[0]}", "given with 'like', which has lengths; take one")
    if not given.like and len(both) < 2:
        missing = "osl" if both == ["isl"] else "isl"
        problem = f"missing; {expected_got(Length.expected, None).removesuffix(', got null')}"
        raise ConfigError(f"{where}.{missing}", f"{problem}, or 'like' with a trace")
    mine = {key: value for key, value in options.items() if key in own}
    made = found(found.options.read(mine, where, ""), given).requests()
    return made if not given.adapters else replace(made, adapter=_adapters(made, given))


def _adapters(them: Requests, given: Common) -> NDArray[np.int32]:
    chance = np.arange(1, given.adapters + 1) ** -float(given.adapters_zipf)
    stream = np.random.SeedSequence(given.seed).spawn(5)[4]
    random = np.random.Generator(np.random.PCG64(stream))
    drawn = random.choice(given.adapters, len(them), p=chance / chance.sum()) + 1
    owner = np.where(them.session < 0, np.arange(len(them)), them.session % len(them))
    return np.asarray(drawn[owner], np.int32)


def at_rate(gaps_s: NDArray[np.float64], where: str) -> Column:
    ends = np.cumsum(gaps_s) * 1e9
    if len(ends) and ends[-1] >= 2.0**62:
        raise ConfigError(where, "the last request arrives after more than 146 years")
    return np.rint(ends).astype(np.int64)
