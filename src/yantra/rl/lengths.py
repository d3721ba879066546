"""How long samples are: a list, a distribution, a trace, or a mean and a cap with what fits them.

Distributions are cut at their cap, as an engine cuts samples: who would be longer has the cap's
length. With a mean and a cap alone one number is free, so there are several answers: lognormal
lengths of sigma 0.4, 0.7 and 1.0.

Trade-off: a distribution is taken at equal shares, (i + 1/2) / n, in an order drawn with a seed, so
that its mean and its longest do not depend on luck. Nothing here is a typical length.
"""

from __future__ import annotations

import json
from functools import lru_cache
from math import exp, log
from os import path as paths
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.documents import read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.rl.agents import Turns, split, turns_of
from yantra.rl.alike import alike

if TYPE_CHECKING:
    from collections.abc import Callable

_SIGMAS = (0.7, 0.4, 1.0)
"""Of lognormal lengths where only mean and cap are known; the first is the answer's middle."""
_MOST = 10**8
_POINTS = 4001
_NORMAL = NormalDist()
_KEYS = ("output", "prompt", "prompt_tokens", "turns")


class Drawn(NamedTuple):
    """Tokens of the samples of a step, group by group; prompts by group, or None if not known."""

    output: np.ndarray
    prompt: np.ndarray | None = None
    turns: Turns | None = None

    @property
    def own(self) -> np.ndarray:
        """Tokens of each sample without its prompt: its own and those of tools."""
        return self.output if self.turns is None else self.output + self.turns.said

    def resized(self, groups: int, each: int) -> Drawn:
        """So many groups, these again and again."""
        rows = np.resize(np.arange(len(self.output)), groups * each)
        prompt = None if self.prompt is None else np.resize(self.prompt, groups)
        turns = None if self.turns is None else self.turns.take(rows)
        return Drawn(self.output[rows], prompt, turns)

    @property
    def mean(self) -> float:
        """Mean tokens of a sample."""
        return float(self.output.mean())


class Lengths(NamedTuple):
    """What is known of lengths: ways to draw them, of which the first is the middle."""

    text: str
    ways: tuple[Callable[[int, int, int], Drawn], ...]
    cap: int
    """The longest that a sample can be, with what tools say."""
    has_turns: bool = False
    """Whether they say them of each sample."""

    def drawn(self, groups: int, each: int, seed: int = 1) -> tuple[Drawn, ...]:
        """Draw so many groups of `each` samples, in each way."""
        return tuple(way(groups, each, seed) for way in self.ways)

    def in_turns(self, turns: int, delay_s: float, added: int) -> Lengths:
        """Those of agents: samples cut into turns, tools between them. Raises ConfigError."""
        if self.has_turns:
            raise ConfigError("--set turns", f"{self.text} have their own turns; leave it out")

        def way(of: Callable[[int, int, int], Drawn]) -> Callable[[int, int, int], Drawn]:
            def drawn(groups: int, each: int, seed: int) -> Drawn:
                made = of(groups, each, seed)
                return made._replace(turns=split(made.output, turns, delay_s, added))

            return drawn

        said = f"{self.text}; {turns} turns, tools of {delay_s:g} s and {added} tokens between"
        return Lengths(
            said, tuple(map(way, self.ways)), self.cap + (turns - 1) * added, has_turns=True
        )


def lengths_of(text: str, where: str = "--lengths") -> Lengths:
    """Read lengths: `mean=1000,cap=4096`, `lognormal:mean=..,sigma=..,cap=..`, a mixture of such
    with shares, `0.8*lognormal:... + 0.2*fixed:tokens=4096`, or a file. Behind a rule `icc=0.3` is
    the intraclass correlation of a prompt's samples.

    A file has a length a line, or an object with `output` and, if known, `prompt`, the name of its
    prompt, and `prompt_tokens`; other files are traces of requests. Raises ConfigError.
    """
    if "=" in text and not text.endswith((".jsonl", ".json", ".csv", ".gz")):
        return _of_rule(text, where)
    if text.endswith(".jsonl"):
        return _of_list(text, where)
    return _of_trace(text, where)


def _of_rule(whole: str, where: str) -> Lengths:
    parts = whole.split(",icc=")
    text, icc = parts[0], 0.0
    if len(parts) > 1:
        share, comma, rest = parts[1].partition(",")
        text, icc = text + comma + rest, _number(share, where)
        if icc >= 1 or len(parts) > 2:
            expected = "one icc, a share from 0 to less than 1, behind a rule"
            raise ConfigError(where, expected_got(expected, whole))
    if ":" not in text:
        given = _numbers(text, ("mean", "cap"), where)
        mean, cap = given["mean"], given["cap"]
        ways = tuple(_way(_Lognormal(mean, one, cap, where).at, icc) for one in _SIGMAS)
        words = " or ".join(f"{one:g}" for one in sorted(_SIGMAS))
        said = f"mean {mean:g}, cut at {cap:g}: lognormal, sigma {words}"
        said += f", icc {icc:g}" if icc else ""
        return Lengths(said, ways, int(cap))
    terms = [_term(part.strip(), where) for part in text.split("+")]
    shares = np.array([share for share, _, _ in terms])
    if not 0.999 < shares.sum() < 1.001:
        raise ConfigError(where, expected_got("shares that add up to 1", f"{shares.sum():g}"))
    cap = max(one for _, _, one in terms)

    def at(shares_of: np.ndarray) -> np.ndarray:
        ends = np.concatenate([[0.0], np.cumsum(shares / shares.sum())])
        found = np.zeros(len(shares_of))
        for number, (_, of, _) in enumerate(terms):
            low, high = ends[number], ends[number + 1]
            own = (shares_of >= low) & (shares_of < high)
            found[own] = of((shares_of[own] - low) / (high - low))
        return found

    return Lengths(whole, (_way(at, icc),), int(cap))


def _term(text: str, where: str) -> tuple[float, Any, float]:
    share, star, rest = text.partition("*")
    part = 1.0 if not star else _number(share, where)
    kind, _, given = (rest if star else text).strip().partition(":")
    if kind == "lognormal":
        of = _numbers(given, ("mean", "sigma", "cap"), where)
        return part, _Lognormal(of["mean"], of["sigma"], of["cap"], where).at, of["cap"]
    if kind == "fixed":
        tokens = _numbers(given, ("tokens",), where)["tokens"]
        return part, lambda shares: np.full(len(shares), tokens), tokens
    if kind == "uniform":
        of = _numbers(given, ("least", "most"), where)
        low, high = of["least"], of["most"]
        if low > high:
            raise ConfigError(where, expected_got("a least of at most the most", text))
        return part, lambda shares: low + (high - low) * shares, high
    known = ("lognormal", "fixed", "uniform")
    raise ConfigError(where, expected_got(f"one of {', '.join(known)}", kind))


class _Lognormal:
    """Lengths whose mean is that after the cut."""

    def __init__(self, mean: float, sigma: float, cap: float, where: str) -> None:
        if not 1 <= mean < cap:
            raise ConfigError(where, expected_got("a mean from 1 to less than the cap", mean))
        if not 0 < sigma <= 4:
            raise ConfigError(where, expected_got("a sigma above 0, at most 4", sigma))
        self._sigma, self._cap = sigma, cap
        shares = (np.arange(_POINTS) + 0.5) / _POINTS
        z = _quantiles(shares)
        low, high = log(mean) - 10, log(cap) + 10 * sigma + 10
        for _ in range(60):
            self._mu = (low + high) / 2
            if np.minimum(np.exp(self._mu + sigma * z), cap).mean() < mean:
                low = self._mu
            else:
                high = self._mu

    def at(self, shares: np.ndarray) -> np.ndarray:
        """Lengths below which such shares of all are."""
        return np.minimum(np.exp(self._mu + self._sigma * _quantiles(shares)), self._cap)


def _quantiles(shares: np.ndarray) -> np.ndarray:
    return np.array([_NORMAL.inv_cdf(one) for one in shares.tolist()])


def _way(at: Callable[[np.ndarray], np.ndarray], icc: float) -> Callable[[int, int, int], Drawn]:
    @lru_cache(maxsize=4)
    def rising(count: int) -> np.ndarray:
        made = at((np.arange(count) + 0.5) / count)
        return np.asarray(np.clip(np.rint(made), 1, _MOST), np.int64)

    def drawn(groups: int, each: int, seed: int) -> Drawn:
        count = groups * each
        if icc:
            return Drawn(alike(rising(count), groups, icc, seed))
        return Drawn(rising(count)[np.random.default_rng(seed).permutation(count)])

    return drawn


def _numbers(text: str, names: tuple[str, ...], where: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = (one.strip() for one in part.partition("="))
        if not equals or name not in names:
            wanted = ",".join(f"{one}=NUMBER" for one in names)
            raise ConfigError(where, expected_got(wanted, text) + did_you_mean(name, names))
        found[name] = _number(value, where)
    for name in names:
        if name not in found:
            raise ConfigError(where, f"{name} is missing; expected {', '.join(names)}, got {text}")
    return found


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = exp(1) * -1
    if not 0 < value <= _MOST:
        raise ConfigError(where, expected_got(f"a number above 0, at most {_MOST:g}", text))
    return value


def _of_list(path: str, where: str) -> Lengths:
    outputs, prompts, names, turns = [], [], [], []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        at = f"{path}: line {number}"
        try:
            row = json.loads(line)
        except ValueError:
            raise ConfigError(at, expected_got("a number or a JSON object", line[:60])) from None
        row = {"output": row} if not isinstance(row, dict) else row
        if unknown := set(row) - set(_KEYS):
            raise ConfigError(at, expected_got(f"keys of {', '.join(_KEYS)}", min(unknown)))
        several = turns_of(row["turns"], f"{at}: turns") if "turns" in row else None
        made_in_all = None if several is None else sum(one[0] for one in several)
        output = _whole(row.get("output", made_in_all), f"{at}: output")
        if made_in_all not in (None, output):
            expected = f"the {made_in_all:,} tokens of its turns, or none"
            raise ConfigError(f"{at}: output", expected_got(expected, output))
        outputs.append(output)
        turns.append(several)
        prompts.append(_whole(row.get("prompt_tokens", 1), f"{at}: prompt_tokens"))
        names.append(row.get("prompt"))
    if not outputs:
        raise ConfigError(where, f"{path} has no lengths; expected one a line")
    is_known = all(name is not None for name in names)
    groups: dict[Any, list[int]] = {}
    for index, name in enumerate(names):
        groups.setdefault(str(name) if is_known else index, []).append(index)
    made, prompt = np.array(outputs, np.int64), np.array(prompts, np.int64)
    members = list(groups.values())
    said = f"{len(outputs):,} lengths of {path}"
    if is_known:
        said += f", {len(members):,} prompts"
    agents = None
    if any(one is not None for one in turns):
        agents = Turns.of([one or [(outputs[at], 0.0, 0)] for at, one in enumerate(turns)])
        said += f", {len(agents.output) / len(outputs):.2g} turns each"
    known = Drawn(made, prompt if prompt.max() > 1 else None, agents)
    way = _listed(known, members, is_known)
    return Lengths(said, (way,), int(known.own.max()), agents is not None)


def _whole(value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST:
        raise ConfigError(where, expected_got(f"whole tokens from 1 to {_MOST:,}", value))
    return value


def _listed(
    known: Drawn, members: list[list[int]], is_known: bool
) -> Callable[[int, int, int], Drawn]:
    def drawn(groups: int, each: int, seed: int) -> Drawn:
        generator = np.random.default_rng(seed)
        if is_known:
            order = np.resize(generator.permutation(len(members)), groups)
            rows = np.concatenate([np.resize(members[one], each) for one in order.tolist()])
        else:
            rows = np.resize(generator.permutation(len(known.output)), groups * each)
        return Drawn(
            known.output[rows],
            None if known.prompt is None else known.prompt[rows[::each]],
            None if known.turns is None else known.turns.take(rows),
        )

    return drawn


def _of_trace(path: str, where: str) -> Lengths:
    from yantra.serving.requests import load

    if not paths.exists(path):
        expected = "a file of lengths, a trace, or a rule such as mean=800,cap=4096"
        raise ConfigError(where, expected_got(expected, path))
    found = load(path)
    made, prompt = np.asarray(found.output), np.asarray(found.prompt)
    members = [[one] for one in range(len(made))]
    said = f"{len(made):,} outputs of {path}"
    return Lengths(said, (_listed(Drawn(made, prompt), members, False),), int(made.max()))
