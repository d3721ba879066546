"""A grammar of passes: motifs that repeat, how often by settings, and which follows which.

Motifs are pairs of the commonest neighbours, merged again and again (Re-Pair, Larsson and Moffat,
DCC 1999), up to `LONGEST` tokens, so that none is long enough to be somebody's alone. A token is
a class or a call, and the octave of its size over the mean.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from math import log2
from random import Random
from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.synth.law import Law
from yantra.synth.solve import solve

LONGEST, MOST = 16, 48
_MOST_MOTIFS = 1 << 15  # of a pass
_OFTEN = 4
_RARE = 0.01  # of a motif after one that it never followed

Token = tuple[str, int]
Row = list[tuple[str, float]]


class Motif(NamedTuple):
    """Tokens, `times` that a pass has it, and how often others follow, by number."""

    tokens: list[Token]
    times: Law
    after: dict[int, int]


def grammar_of(
    rows: Sequence[Row], features: Sequence[Sequence[float]], cost: Sequence[float]
) -> list[Motif]:
    """The motifs of passes: classes or calls with sizes, in order; `features` of each pass."""
    texts = _merged([[(token,) for token in _tokens(row)] for row in rows])
    words = sorted({word for text in texts for word in text})
    number = {word: at for at, word in enumerate(words)}
    after: dict[int, Counter[int]] = defaultdict(Counter)
    for text in texts:
        for one, other in pairwise(text):
            after[number[one]][number[other]] += 1
    counts = [Counter(text) for text in texts]
    return [
        Motif(
            list(word),
            Law(*solve(features, [float(count[word]) for count in counts], cost)),
            dict(after[at]),
        )
        for at, word in enumerate(words)
    ]


def _tokens(row: Row) -> list[Token]:
    sums: dict[str, float] = defaultdict(float)
    for word, size in row:
        sums[word] += size
    counts = Counter(word for word, _ in row)
    return [
        (word, round(log2(max(size, 1) * counts[word] / max(sums[word], 1)))) for word, size in row
    ]


def _merged(texts: list[list[tuple[Token, ...]]]) -> list[list[tuple[Token, ...]]]:
    for _ in range(MOST):
        pairs = Counter(
            pair for text in texts for pair in pairwise(text) if len(pair[0] + pair[1]) <= LONGEST
        )
        if not pairs:
            break
        pair, times = max(pairs.items(), key=lambda item: (item[1], item[0]))
        if times < _OFTEN:
            break
        texts = [_joined(text, pair) for text in texts]
    return texts


def _joined(
    text: list[tuple[Token, ...]], pair: tuple[tuple[Token, ...], tuple[Token, ...]]
) -> list[tuple[Token, ...]]:
    found: list[tuple[Token, ...]] = []
    at = 0
    while at < len(text):
        is_pair = tuple(text[at : at + 2]) == pair
        found.append(pair[0] + pair[1] if is_pair else text[at])
        at += 2 if is_pair else 1
    return found


def body(motifs: Sequence[Motif], features: Sequence[float], random: Random) -> list[Token]:
    """The tokens of a pass: as many of each motif as settings say, in an order by chance."""
    left = [round(motif.times.at(features)) for motif in motifs]
    if sum(left) > _MOST_MOTIFS:
        raise ConfigError(
            "--set", f"a pass of {sum(left)} motifs; at most {_MOST_MOTIFS} are drawn"
        )
    tokens: list[Token] = []
    last: dict[int, int] = {}
    while any(count > 0 for count in left):
        some = [at for at, count in enumerate(left) if count > 0]
        (chosen,) = random.choices(some, [last.get(at, 0) + _RARE * left[at] for at in some])
        left[chosen] -= 1
        tokens += motifs[chosen].tokens
        last = motifs[chosen].after
    return tokens
