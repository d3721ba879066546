"""The sequences of one micro-batch: how many tokens, and how many pairs attention looks at.

Training, prefill, decode and mixed iterations differ only here: a sequence adds `new` tokens to
`past` tokens that are in the cache already.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from yantra.base.errors import InternalError

Causality = Literal["exact", "full", "megatron"]


class Reach(NamedTuple):
    """Which keys a query sees: all before it and itself, of those a window, or of all any.

    `window` counts tokens, the query itself included. `chunked`: sequences are cut into chunks of
    so many tokens, and a query sees those of its chunk.
    """

    causal: bool = True
    window: int | None = None
    chunked: bool = False


class Sequences(NamedTuple):
    """`number` sequences, each with `new` tokens after `past` ones.

    `emits`: the head runs on the last token; a chunk that does not end its prompt emits nothing.
    """

    number: int
    new: int
    past: int = 0
    emits: bool = True

    def pairs(self, reach: Reach, causality: Causality) -> int:
        """Return the number of (query, key) pairs.

        `exact` counts a token's view of itself and what precedes it, s (s + 1) / 2; `megatron`
        counts half of the square; `full` ignores the mask.
        """
        if not reach.causal or causality == "full":
            return self.number * self.new * (self.past + self.new)
        if causality == "megatron":
            return self.number * self.new * (2 * self.past + self.new) // 2
        pairs = _seen(self.past + self.new, reach) - _seen(self.past, reach)
        return self.number * pairs

    def cached(self, reach: Reach) -> int:
        """Return the number of cached tokens that the new ones see.

        A window of w tokens, the query itself included, reaches w - 1 tokens behind the first; of a
        chunk it is what of it is there already.
        """
        if reach.window is None:
            return self.number * self.past
        if reach.chunked:
            return self.number * (self.past % reach.window)
        return self.number * min(self.past, reach.window - 1)


def _seen(tokens: int, reach: Reach) -> int:
    """Return the pairs of a sequence of `tokens` under a causal mask."""
    window = reach.window
    if window is None or tokens <= window:
        return tokens * (tokens + 1) // 2
    if reach.chunked:
        chunks, rest = divmod(tokens, window)
        return chunks * (window * (window + 1) // 2) + rest * (rest + 1) // 2
    return window * (window + 1) // 2 + (tokens - window) * window


EVERYTHING = Reach()


class Batch(NamedTuple):
    """What one replica works on at once.

    `all_logits`: the head runs on every new token (training), else on the last of each sequence
    that emits one. `padding` tokens belong to no sequence: they fill up equal shares.
    """

    groups: tuple[Sequences, ...]
    all_logits: bool = True
    causality: Causality = "exact"
    padding: int = 0

    @classmethod
    def of(cls, sequences: int, length: int, causality: Causality = "exact") -> Batch:
        """Return a batch of training: `sequences` of `length` tokens."""
        return cls((Sequences(sequences, length),), causality=causality)

    @property
    def tokens(self) -> int:
        """The number of new tokens, padding included."""
        return self.stored + self.padding

    @property
    def stored(self) -> int:
        """The number of new tokens whose keys and values go into the cache: no padding."""
        return sum(group.number * group.new for group in self.groups)

    @property
    def sequences(self) -> int:
        """The number of sequences."""
        return sum(group.number for group in self.groups)

    @property
    def context(self) -> int:
        """The number of tokens whose keys and values are read: new and past."""
        return sum(group.number * (group.past + group.new) for group in self.groups)

    @property
    def past(self) -> int:
        """The number of tokens whose keys and values lie in the cache before."""
        return sum(group.number * group.past for group in self.groups)

    @property
    def logits(self) -> int:
        """The number of tokens for which the head runs."""
        if self.all_logits:
            return self.tokens
        return sum(group.number for group in self.groups if group.emits)

    def cached(self, reach: Reach = EVERYTHING) -> int:
        """Return the number of tokens whose keys and values are read from the cache."""
        return sum(group.cached(reach) for group in self.groups)

    def decodes(self) -> Batch:
        """Return the part with one new token per sequence."""
        return self._replace(groups=tuple(g for g in self.groups if g.new == 1), padding=0)

    def prefills(self) -> Batch:
        """Return the part with several new tokens per sequence."""
        return self._replace(groups=tuple(g for g in self.groups if g.new > 1), padding=0)

    def pairs(self, reach: Reach = EVERYTHING) -> int:
        """Return the number of (query, key) pairs of one head over all sequences."""
        return sum(group.pairs(reach, self.causality) for group in self.groups)

    def ring_pairs(self, reach: Reach, steps: int) -> tuple[int, ...]:
        """Return the pairs one rank of `steps` works on in each step of ring attention.

        Each rank holds chunks i and 2c-1-i of 2c, which makes ranks equal (zig-zag): u = s / 2c;
        with its own keys 2 u^2 + u pairs, with those of any other rank 2 u^2.
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
