"""The share of prompts that a cache without end would hold when they arrive.

A block hits if an earlier request, in its prompt or its output, began with the same tokens up to
the block's end. Trade-off: a loop over blocks of spans in Python, 1 us each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from yantra.base.errors import ConfigError
from yantra.serving.requests.types import OWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yantra.serving.requests.types import Requests

_Block = tuple[int, ...]  # source and end in the block of each piece


def ideal_hits(them: Requests, block: int = 512) -> float:
    if block < 1:
        raise ConfigError("requests.ideal_hits", f"expected blocks of 1 token or more, got {block}")
    of_spans = them.span_source
    named = set((of_spans[of_spans >= OWN] - OWN).tolist())  # whose own tokens come again
    start, sources, ends = (c.tolist() for c in (them.span_start, of_spans, them.span_end))
    known: dict[tuple[int, _Block], int] = {}
    hits = 0
    for at, (prompt, output) in enumerate(
        zip(them.prompt.tolist(), them.output.tolist(), strict=True)
    ):
        first, last = start[at], start[at + 1]
        if first == last and at not in named:
            continue
        pieces = list(zip(sources[first:last], ends[first:last], strict=True))
        if not pieces or pieces[-1][1] < prompt:
            pieces.append((OWN + at, prompt))
        # A block with own tokens that nobody names again is new, and so are those behind it.
        shared = ends[last - 1] if last > first else 0
        is_whole = at in named or shared == prompt
        chain = -1
        for key in _blocks(pieces, block, prompt if is_whole else shared - shared % block):
            hits += (chain, key) in known
            chain = known.setdefault((chain, key), len(known))
        if at in named:
            _remember(known, pieces, block, prompt + output, OWN + at)
    total = int(np.sum(-(-them.prompt // block)))
    return hits / total if total else 0.0


def _remember(
    known: dict[tuple[int, _Block], int],
    pieces: list[tuple[int, int]],
    block: int,
    until: int,
    own: int,
) -> None:
    chain = -1
    for key in _blocks([*pieces, (own, until)], block, until):
        chain = known.setdefault((chain, key), len(known))


def _blocks(pieces: list[tuple[int, int]], block: int, until: int) -> Iterator[_Block]:
    begin, at = 0, 0
    while begin < until:
        end = min(begin + block, until)
        key: list[int] = []
        while True:
            source, its_end = pieces[at]
            if key and key[-2] == source:  # two spans of one source are one
                key.pop()
            else:
                key.append(source)
            key.append(min(its_end, end) - begin)
            if its_end >= end:
                break
            at += 1
        if its_end == end:
            at += 1
        yield tuple(key)
        begin = end
