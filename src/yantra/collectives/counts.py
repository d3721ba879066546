"""All-to-alls in which pairs exchange unequal counts (MPI: alltoallv), as tokens go to experts.

A trace's one size is of the member that sends or gets most, its own part included: with counts c
and L the largest row or column sum, s sends d the share c[s][d] / L. Where messages share links it
takes at least, with equal senders exactly,

    max over members of max(what it sends to others, what it gets of others) / bandwidth of its link

It is a direct exchange. Trade-off: an operation per pair, so at most `MOST` members. One matrix
serves all groups of its size: the way back is the transpose, with the same loads reversed.

A file has a line for each member: whole numbers sent to members 0, 1, ..., with commas. `zipf:a`
gives expert e of E the share 1 / (e + 1)^a of every member's tokens, a member E / n experts
(largest remainders).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.whole_numbers import whole
from yantra.collectives.lower import lower_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.collectives.program import GraphProgram

Counts = tuple[tuple[int, ...], ...]

MOST = 1024
"""Members of a group with unequal counts; a million operations."""

ROWS = 1 << 16
"""Rows of each member to spread."""

_MOST_COUNT = 1 << 40


def load(path: Path) -> Counts:
    """The counts of a file. Raises ConfigError with the line."""
    return _parsed(read_text(path), str(path))


@cache
def _parsed(text: str, path: str) -> Counts:
    lines = [line for line in text.splitlines() if line.strip()]
    if not 2 <= len(lines) <= MOST:
        raise ConfigError(path, f"expected 2 to {MOST} lines of counts, got {len(lines)}")
    rows = []
    for number, line in enumerate(lines, 1):
        words = [word.strip() for word in line.split(",")]
        where = f"{path}: line {number}"
        if len(words) != len(lines):
            raise ConfigError(
                where, f"expected {len(lines)} counts, one for each line, got {len(words)}"
            )
        rows.append(tuple([_count(word, where) for word in words]))
    if not any(map(any, rows)):
        raise ConfigError(path, "expected a count above 0, got none")
    return tuple(rows)


def _count(word: str, where: str) -> int:
    count = whole(word)
    if count is None or count > _MOST_COUNT:
        raise ConfigError(where, expected_got(f"a whole number from 0 to {_MOST_COUNT}", word))
    return count


def exponent_of(routing: str, where: str) -> float:
    """The exponent of `zipf:a`. Raises ConfigError."""
    kind, _, number = routing.partition(":")
    try:
        alpha = float(number)
    except ValueError:
        alpha = -1.0
    if kind != "zipf" or not 0 <= alpha <= 100:
        raise ConfigError(where, expected_got('"zipf:<alpha>" such as "zipf:1.2"', routing))
    return alpha


def of_routing(exponent: float, experts: int, members: int) -> Counts:
    """What members of a group send each other; `members` divides `experts`."""
    inside = experts // members
    shares = [(expert + 1.0) ** -exponent for expert in range(experts)]
    exact = [
        ROWS * sum(shares[at * inside : (at + 1) * inside]) / sum(shares) for at in range(members)
    ]
    rows = [int(value) for value in exact]
    by_remainder = sorted(range(members), key=lambda at: (rows[at] - exact[at], at))
    for at in by_remainder[: ROWS - sum(rows)]:
        rows[at] += 1
    return (tuple(rows),) * members


def largest(counts: Counts) -> int:
    sums: list[int] = [sum(row) for row in (*counts, *zip(*counts, strict=True))]
    return max(sums)


def program_of(counts: Counts) -> GraphProgram:
    return lower_counts(counts, largest(counts))


def loads(counts: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    members = range(len(counts))
    sent = [sum(counts[s][d] for d in members if d != s) for s in members]
    got = [sum(counts[s][d] for s in members if s != d) for d in members]
    return sent, got
