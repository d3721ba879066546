"""Motifs laid out: pieces of work of a pass, and where its calls are.

Octaves become shares of a class's sum, spread by chance so that no row of sizes is copied.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from yantra.synth.motifs import Motif, body
from yantra.synth.passes import nominal

_SPREAD = 0.4  # octaves
_WITH = {"ops": ("ops", "bytes"), "light": ("light",), "ns": ("ns",)}


class Piece(NamedTuple):
    """Work between two places of a pass, from 0 to 1."""

    begin: float
    end: float
    amounts: Mapping[str, float]


class Body:
    """`pieces` whose sums are `amounts`; `calls`: place and share of its bytes, by word."""

    def __init__(
        self,
        motifs: Sequence[Motif],
        features: Sequence[float],
        amounts: Mapping[str, float],
        random: Random,
    ) -> None:
        tokens = body(motifs, features, random)
        classes = ["ns"] if amounts["ns"] else ["ops", "light"]
        tokens += [(name, 0) for name in classes if all(word != name for word, _ in tokens)]
        weights = [2 ** (octave + random.gauss(0, _SPREAD)) for _, octave in tokens]
        sums: dict[str, float] = defaultdict(float)
        for (word, _), weight in zip(tokens, weights, strict=True):
            sums[word] += weight
        own = {name: {key: amounts[key] for key in _WITH[name]} for name in classes}
        times = {name: nominal(some) for name, some in own.items()}
        whole = sum(times.values()) or 1.0
        self.pieces: list[Piece] = []
        self.calls: dict[str, list[tuple[float, float]]] = defaultdict(list)
        at = 0.0
        for (word, _), weight in zip(tokens, weights, strict=True):
            share = weight / sums[word]
            if word in own:
                end = min(at + times[word] / whole * share, 1.0)
                some = dict.fromkeys(amounts, 0.0)
                some |= {name: value * share for name, value in own[word].items()}
                self.pieces.append(Piece(at, end, some))
                at = end
            elif word not in _WITH:
                self.calls[word].append((at, share))
        self.pieces[-1] = self.pieces[-1]._replace(end=1.0)
