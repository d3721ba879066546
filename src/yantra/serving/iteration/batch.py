"""What an iteration works on, in the counts that its time depends on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from yantra.base.errors import ConfigError, expected_got


class Batch(NamedTuple):
    """`decodes` sequences with one new token, their cached tokens in `context`; `chunks` of
    prompts, each (new tokens, cached tokens); `emitted` sequences whose next token is chosen.
    """

    decodes: int = 0
    context: int = 0
    chunks: tuple[tuple[int, int], ...] = ()
    emitted: int = 0

    @classmethod
    def of(cls, sequences: Iterable[tuple[int, int]], emitted: int | None = None) -> Batch:
        """The batch of (new tokens, cached tokens) of each sequence.

        Raises ConfigError for a number below 1 or 0.
        """
        decodes, context, chunks = 0, 0, []
        for new, cached in sequences:
            if new < 1 or cached < 0:
                got = f"{new} and {cached}"
                expected = "new tokens of at least 1 and cached ones of at least 0"
                raise ConfigError("batch", expected_got(expected, got))
            if new == 1:
                decodes, context = decodes + 1, context + cached
            else:
                chunks.append((new, cached))
        chosen = decodes + len(chunks) if emitted is None else emitted
        return cls(decodes, context, tuple(chunks), chosen)

    @property
    def tokens(self) -> int:
        """New tokens of all sequences."""
        return self.decodes + sum(new for new, _ in self.chunks)

    @property
    def sequences(self) -> int:
        """Sequences that decode or have a chunk."""
        return self.decodes + len(self.chunks)
