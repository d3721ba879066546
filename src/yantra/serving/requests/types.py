"""Requests as columns: when each arrives, how long it is, whom it follows, what it shares.

A prompt's content is a list of spans: the token at position j has the name (source of the span that
holds j, j), and two prompts share a prefix as long as these pairs are equal. What is beyond the
last span is the request's own, as is its output; their source is `OWN + i`.

Trade-off: names of tokens, no tokens, so nothing depends on a tokenizer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from yantra.base.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from yantra.serving.requests.statistics import Statistics

    Whole = NDArray[np.int64]

OWN = 2**62
"""Where the sources begin that are a request's own: of request i it is OWN + i."""

LEFT_OUT = 2**61
"""Where the sources begin that were the own ones of requests that `take` left out."""

MOST_TOKENS = 10**9
"""The longest prompt, and the longest output."""

_WITH_A_DEFAULT = ("limit", "priority", "user", "adapter", "session", "after", "delay_ns")
PER_REQUEST = ("arrival_ns", "prompt", "output", *_WITH_A_DEFAULT)
"""The columns with one number for each request."""
SPANS = ("span_start", "span_source", "span_end")
"""The columns of content, in compressed rows: request i has those from span_start[i] on."""


@dataclass(frozen=True, eq=False, repr=False)
class Requests:
    """Columns of n requests in order of arrival, read only; `Requests.of` fills in defaults.

    Raises ConfigError for a column that contradicts another.
    """

    arrival_ns: Whole
    """When it arrives; one that follows another, no earlier: the later of this and `delay_ns`
    behind that one's finish."""
    prompt: Whole
    """Tokens of the prompt."""
    output: Whole
    """Tokens that it emits."""
    limit: Whole
    """Tokens that it may emit, which is what a scheduler knows: `max_new_tokens`."""
    priority: Whole
    """Smaller is served first, as in vLLM."""
    user: NDArray[np.int32]
    """Who sent it."""
    adapter: NDArray[np.int32]
    """The low-rank adapter (LoRA) of its weights, from 1; 0 for none."""
    session: Whole
    """The conversation it belongs to; -1 for none."""
    after: Whole
    """The request that must have finished before it arrives; -1 for none."""
    delay_ns: Whole
    """Time from that finish to its arrival: thinking, or a tool."""
    span_start: Whole
    """Of n + 1 numbers: where the spans of each begin, and where the last end."""
    span_source: Whole
    """Who named the tokens of a span."""
    span_end: Whole
    """The position in the prompt before which a span ends; it begins where the last one ended."""

    @classmethod
    def of(
        cls,
        arrival_ns: ArrayLike,
        prompt: ArrayLike,
        output: ArrayLike,
        *,
        limit: ArrayLike | None = None,
        priority: ArrayLike = 0,
        user: ArrayLike = 0,
        adapter: ArrayLike = 0,
        session: ArrayLike = -1,
        after: ArrayLike = -1,
        delay_ns: ArrayLike = 0,
        spans: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
    ) -> Requests:
        """Requests of columns, or of one value for all; the limit is the output unless given."""
        arrival = _column(arrival_ns)
        size = len(arrival)
        output = _column(output, size)
        start, source, end = ((0,) * (size + 1), (), ()) if spans is None else spans
        return cls(
            arrival,
            _column(prompt, size),
            output,
            output if limit is None else _column(limit, size),
            _column(priority, size),
            _column(user, size).astype(np.int32),
            _column(adapter, size).astype(np.int32),
            *(_column(one, size) for one in (session, after, delay_ns)),
            *(_column(one) for one in (start, source, end)),
        )

    def __post_init__(self) -> None:
        for name, column in self.columns():
            column.flags.writeable = False
            size = {"span_start": len(self) + 1, "span_end": len(self.span_source)}
            expected = size.get(name, len(column) if name == "span_source" else len(self))
            if column.shape != (expected,):
                problem = f"expected {expected} numbers, got shape {column.shape}"
                raise ConfigError(f"requests.{name}", problem)
        _check(self)
        _check_spans(self)

    def __len__(self) -> int:
        return len(self.arrival_ns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Requests):
            return NotImplemented
        pairs = zip(self.columns(), other.columns(), strict=True)
        return all(np.array_equal(one, its) for (_, one), (_, its) in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} requests in {self.span_s:.1f} s>"

    def columns(self) -> Iterable[tuple[str, NDArray[Any]]]:
        """Yield name and values of each column."""
        for name in (*PER_REQUEST, *SPANS):
            yield name, getattr(self, name)

    @property
    def span_s(self) -> float:
        """Seconds from the first arrival to the last."""
        return float(self.arrival_ns[-1] - self.arrival_ns[0]) / 1e9 if len(self) else 0.0

    def spans_of(self, request: int) -> tuple[Whole, Whole]:
        """Return sources and ends of a request's spans."""
        at = slice(self.span_start[request], self.span_start[request + 1])
        return self.span_source[at], self.span_end[at]

    def take(self, indices: ArrayLike) -> Requests:
        """Return the requests of some indices, or of a mask, in their order here.

        What followed a request that is left out then arrives at its own `arrival_ns`; what shared
        tokens with it goes on to share them. Raises ConfigError for an index that is none or twice.
        """
        chosen = np.asarray(indices)
        if chosen.dtype == bool and chosen.shape == (len(self),):
            return reordered(self, np.flatnonzero(chosen))
        order = np.sort(chosen.astype(np.int64).reshape(-1))
        if len(order) and not (order[0] >= 0 and order[-1] < len(self)):
            problem = f"expected indices from 0 to {len(self) - 1}, got {order[0]} to {order[-1]}"
            raise ConfigError("requests.take", problem)
        if np.any(order[1:] == order[:-1]):
            twice = order[1:][order[1:] == order[:-1]][0]
            raise ConfigError("requests.take", f"expected each index once, got {twice} twice")
        return reordered(self, order)

    def scaled(self, factor: float) -> Requests:
        """Return the same requests at `factor` times the rate: arrival / factor.

        Delays of those that follow others stay. Raises ConfigError unless it is above 0.
        """
        if not 0 < factor < float("inf"):
            raise ConfigError("requests.scaled", f"must be above 0; got {factor}")
        if factor == 1:
            return self
        arrival = np.rint(self.arrival_ns / factor)
        if len(self) and arrival[-1] >= 2.0**63:
            raise ConfigError("requests.scaled", f"arrivals end beyond 2^63 ns at {factor} x")
        return self.replaced(arrival_ns=arrival.astype(np.int64))

    def repeated(
        self, times: int, period_ns: int | None = None, *, shares: bool = False
    ) -> Requests:
        """Return the requests `times` times, a period apart, by default one that keeps the rate.

        With `shares` all copies have the content of the first, so that caches hit; else each has
        its own. Raises ConfigError.
        """
        from yantra.serving.requests.join import repeated

        return repeated(self, times, period_ns, shares=shares)

    def statistics(self) -> Statistics:
        """Return count, rate and lengths."""
        from yantra.serving.requests.statistics import statistics

        return statistics(self)

    def ideal_hits(self, block: int = 512) -> float:
        """Return the share of blocks of prompts that a cache without end would hold."""
        from yantra.serving.requests.hits import ideal_hits

        return ideal_hits(self, block)

    def replaced(self, **columns: NDArray[Any]) -> Requests:
        """Return a copy with some columns replaced, checked like a new one."""
        return Requests(**(dict(self.columns()) | columns))


def reordered(all_of: Requests, order: Whole) -> Requests:
    """Raises ConfigError if that is no order of arrival."""
    return Requests(**reordered_columns(dict(all_of.columns()), order))


def reordered_columns(columns: dict[str, NDArray[Any]], order: Whole) -> dict[str, NDArray[Any]]:
    size = len(columns["arrival_ns"])
    now = np.full(size + 1, -1)  # the last for those that follow none
    now[order] = np.arange(len(order))
    taken = {name: columns[name][order] for name in PER_REQUEST}
    taken["after"] = now[taken["after"]]
    taken["delay_ns"] = np.where(taken["after"] < 0, 0, taken["delay_ns"])
    start = columns["span_start"]
    many = (start[1:] - start[:-1])[order]
    taken["span_start"] = np.concatenate([[0], np.cumsum(many)]).astype(np.int64)
    at = np.repeat(start[:-1][order] - taken["span_start"][:-1], many) + np.arange(many.sum())
    source = columns["span_source"][at]
    taken["span_source"] = _renamed(source, now, columns["span_source"])
    taken["span_end"] = columns["span_end"][at]
    return taken


def _renamed(source: Whole, now: Whole, before: Whole) -> Whole:
    is_own = source >= OWN
    to = now[np.where(is_own, source - OWN, -1)]
    shared = before[before < OWN]
    # Those of requests that are gone get names that nobody has.
    unused = max(LEFT_OUT, int(shared.max(initial=0)) + 1)
    gone = is_own & (to < 0)
    _, rank = np.unique(source[gone], return_inverse=True)
    renamed = np.where(is_own, OWN + to, source)
    renamed[gone] = unused + rank
    return renamed


def _column(values: ArrayLike, size: int | None = None) -> Whole:
    given = np.asarray(values)
    try:
        with np.errstate(invalid="ignore"):  # of what is no number, which is not equal then
            column = given.astype(np.int64)
        is_whole = given.dtype == np.int64 or np.array_equal(column, given)
    except (OverflowError, TypeError, ValueError):
        is_whole = False
    if not is_whole:
        raise ConfigError("requests", "expected whole numbers below 2^63 in every column")
    if column.ndim == 0 and size is not None:
        return np.full(size, column)
    return column


def _check(them: Requests) -> None:
    number = np.arange(len(them))
    after = np.where(them.after < 0, number - 1, them.after)
    ranges = (
        ("arrival_ns", them.arrival_ns < 0, "a time from 0 on"),
        ("prompt", (them.prompt < 1) | (them.prompt > MOST_TOKENS), _tokens()),
        ("output", (them.output < 1) | (them.output > MOST_TOKENS), _tokens()),
        ("limit", (them.limit < them.output) | (them.limit > MOST_TOKENS), "the output or more"),
        ("user", them.user < 0, "a number from 0 on"),
        ("adapter", them.adapter < 0, "a number from 0 on"),
        ("session", them.session < -1, "-1 or a number"),
        ("after", (them.after < -1) | (after >= number), "-1 or an earlier request"),
        ("delay_ns", them.delay_ns < 0, "a time from 0 on"),
    )
    for name, wrong, expected in ranges:
        if wrong.any():
            at = int(np.argmax(wrong))
            problem = f"expected {expected}, got {getattr(them, name)[at]}"
            raise ConfigError(f"requests[{at}].{name}", problem)
    early = them.arrival_ns[1:] < them.arrival_ns[:-1]
    if early.any():
        at = int(np.argmax(early)) + 1
        before = them.arrival_ns[at - 1]
        problem = f"expected {before} or later, as the one before, got {them.arrival_ns[at]}"
        raise ConfigError(f"requests[{at}].arrival_ns", problem)


def _tokens() -> str:
    return f"from 1 to {MOST_TOKENS} tokens"


def _check_spans(them: Requests) -> None:
    start = them.span_start
    if start[0] != 0 or start[-1] != len(them.span_end) or np.any(start[1:] < start[:-1]):
        raise ConfigError("requests.span_start", "expected numbers that rise from 0 to all spans")
    owner = np.repeat(np.arange(len(them)), start[1:] - start[:-1])
    begin = np.concatenate([[0], them.span_end[:-1]])[: len(owner)]
    begin[start[:-1][start[:-1] < len(owner)]] = 0
    source, end = them.span_source, them.span_end
    is_own = source >= OWN
    stranger = np.where(is_own, source - OWN >= owner, source < 0)
    whose = np.where(is_own & ~stranger, source - OWN, owner)
    longest = np.where(whose == owner, MOST_TOKENS, (them.prompt + them.output)[whose])
    for name, is_wrong, expected in (
        ("span_source", stranger, "a number from 0 to 2^62, or 2^62 + an earlier request"),
        ("span_end", end <= begin, "a position behind the last span's end"),
        ("span_end", end > them.prompt[owner], "a position within the prompt"),
        ("span_end", end > longest, "no more than the tokens of the request named"),
    ):
        if is_wrong.any():
            at = int(np.argmax(is_wrong))
            problem = f"expected {expected}, got {getattr(them, name)[at]}"
            raise ConfigError(f"requests[{owner[at]}].{name}", problem)
