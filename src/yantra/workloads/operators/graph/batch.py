"""The sequences of one micro-batch.

Training, prefill, decode and mixed iterations differ only here: a sequence adds `new` tokens to
`past` cached ones.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from yantra.base.errors import InternalError

Causality = Literal["exact", "full", "megatron"]


class Reach(NamedTuple):
    """Which keys a query sees: it and all before, a window of those, or any.

    `window` counts tokens, including the query. `chunked`: a query sees its chunk of `window`
    tokens.
    """

    causal: bool = True
    window: int | None = None
    chunked: bool = False


class Sequences(NamedTuple):
    """`number` sequences, each with `new` tokens after `past` ones.

    `emits`: the head runs on the last token; not so for a chunk that does not end its prompt.
    """

    number: int
    new: int
    past: int = 0
    emits: bool = True

    def pairs(self, reach: Reach, causality: Causality) -> int:
        """(query, key) pairs.

        `exact` counts s (s + 1) / 2, including a token itself; `megatron` half of the square;
        `full` ignores the mask.
        """
        if not reach.causal or causality == "full":
            return self.number * self.new * (self.past + self.new)
        if causality == "megatron":
            return self.number * self.new * (2 * self.past + self.new) // 2
        pairs = _seen(self.past + self.new, reach) - _seen(self.past, reach)
        return self.number * pairs

    def cached(self, reach: Reach) -> int:
        """Cached tokens that the new ones see."""
        if reach.window is None:
            return self.number * self.past
        if reach.chunked:
            return self.number * (self.past % reach.window)
        return self.number * min(self.past, reach.window - 1)


def _seen(tokens: int, reach: Reach) -> int:
    window = reach.window
    if window is None or tokens <= window:
        return tokens * (tokens + 1) // 2
    if reach.chunked:
        chunks, rest = divmod(tokens, window)
        return chunks * (window * (window + 1) // 2) + rest * (rest + 1) // 2
    return window * (window + 1) // 2 + (tokens - window) * window


EVERYTHING = Reach()


class Batch(NamedTuple):
    """`all_logits`: the head runs on every new token (training), else on an emitting sequence's
    last. `padding` tokens fill up equal shares.
    """

    groups: tuple[Sequences, ...]
    all_logits: bool = True
    causality: Causality = "exact"
    padding: int = 0

    @classmethod
    def of(cls, sequences: int, length: int, causality: Causality = "exact") -> Batch:
        """A training batch: `sequences` of `length` tokens."""
        return cls((Sequences(sequences, length),), causality=causality)

    @property
    def tokens(self) -> int:
        return self.stored + self.padding

    @property
    def stored(self) -> int:
        return sum(group.number * group.new for group in self.groups)

    @property
    def sequences(self) -> int:
        return sum(group.number for group in self.groups)

    @property
    def context(self) -> int:
        return sum(group.number * (group.past + group.new) for group in self.groups)

    @property
    def past(self) -> int:
        return sum(group.number * group.past for group in self.groups)

    @property
    def logits(self) -> int:
        if self.all_logits:
            return self.tokens
        return sum(group.number for group in self.groups if group.emits)

    def cached(self, reach: Reach = EVERYTHING) -> int:
        return sum(group.cached(reach) for group in self.groups)

    def decodes(self) -> Batch:
        return self._replace(groups=tuple(g for g in self.groups if g.new == 1), padding=0)

    def prefills(self) -> Batch:
        return self._replace(groups=tuple(g for g in self.groups if g.new > 1), padding=0)

    def pairs(self, reach: Reach = EVERYTHING) -> int:
        return sum(group.pairs(reach, self.causality) for group in self.groups)

    def ring_pairs(self, reach: Reach, steps: int) -> tuple[int, ...]:
        """Pairs of one of `steps` ranks in each step of ring attention.

        Zig-zag, chunks of u tokens: 2 u^2 + u pairs with its own keys, 2 u^2 with any other rank's.
        """
        total = self.pairs(reach)
        if reach != EVERYTHING or self.causality != "exact" or steps == 1:
            return tuple(
                total * (at + 1) // steps**2 - total * at // steps**2 for at in range(steps)
            )
        others = 0
        for number, new, past, _ in self.groups:
            if past or new % (2 * steps):
                raise InternalError(f"{new} tokens do not make {2 * steps} chunks")
            others += number * 2 * (new // (2 * steps)) ** 2
        own = total // steps - (steps - 1) * others
        return (own, *([others] * (steps - 1)))
