"""`PassPlayer`: the template of one device of a pipeline, made of copies of its passes.

A pass is encoded once (`_core.PassEncoder`), as segments (blocks of nodes that stand together); a
copy names the micro-batch. What ties a copy to those before it follows from the segments:
computations and the collectives of each communicator are chained in program order, and passes of
one micro-batch find each other by chunk and direction. Nodes of copies exist when somebody asks for
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from yantra import _core
from yantra.base.errors import InternalError
from yantra.chakra.stamping import Copies
from yantra.chakra.trace import Trace

FORWARD = _core.PassSource.FORWARD
BACKWARD = _core.PassSource.BACKWARD


class Moved(NamedTuple):
    """What a pass of other layers has other than the pass it is like.

    `layers` are added to the numbers of layers, `tags` to the tags below `first_inner`,
    `inner_tags` to the others; `chunk` is its own.
    """

    layers: int = 0
    chunk: int = 0
    tags: int = 0
    inner_tags: int = 0
    first_inner: int = 0

    def text(self, text: str) -> str:
        """Return a name with the numbers of its layers moved."""
        return _core.with_layers(text, self.layers) if self.layers else text

    def tag(self, tag: int) -> int:
        """Return the tag of a message."""
        return tag + (self.inner_tags if tag >= self.first_inner else self.tags)


@cache  # a player reads its metadata alone
def _empty() -> Trace:
    return Trace()


class Place(NamedTuple):
    """Where a pass belongs: its chunk, what others look for it as, and whose tensor it takes.

    `beside` is the chunk of the same device that makes the tensor, in a pass of the direction
    `neighbour`.
    """

    chunk: int
    direction: _core.PassSource | None
    neighbour: _core.PassSource | None
    beside: int | None


class PassPlayer:
    """Collects copies of passes. Collectives of `gradient_groups` are those of gradients."""

    def __init__(self, gradient_groups: Iterable[str], tags_each: int) -> None:
        """`tags_each` is by how much tags of a micro-batch are above those of the one before."""
        self._native = _core.Player(_empty().native, sorted(gradient_groups))
        self._tags = tags_each

    def add(
        self,
        one: _core.EncodedPass,
        blocking: Sequence[int] = (),
        place: Place | None = None,
        moved: Moved | None = None,
    ) -> int:
        """Add a pass that can be played; return its number. `blocking` are keys."""
        where = place or Place(0, None, None, None)
        relabel = None if moved is None else _core.Relabel(*moved)
        return self._native.add(
            one,
            list(blocking),
            where.direction,
            where.neighbour,
            where.beside,
            where.chunk,
            relabel,
        )

    def play(self, passes: Sequence[int], microbatches: Sequence[int]) -> None:
        """Play passes of one segment, one after the other."""
        self._checked(self._native.play_each, passes, microbatches, self._tags)

    def play_in_turns(
        self,
        passes: Sequence[int],
        microbatches: Sequence[int],
        turns: Sequence[tuple[int, int]],
    ) -> None:
        """Play passes at once: `turns` says whose turn it is, and which of its segments."""
        self._checked(self._native.play_in_turns, passes, microbatches, turns, self._tags)

    def finish(self, number: int) -> None:
        """Play what comes once a step, behind all its passes; those of a further one may follow."""
        self._checked(self._native.finish, number)

    def copies(self) -> Copies:
        """Return the template."""
        return Copies(self._native.stamper)

    @staticmethod
    def _checked(call: object, *arguments: object) -> None:
        try:
            call(*arguments)  # type: ignore[operator]
        except (ValueError, IndexError) as error:
            raise InternalError(f"a pass cannot be played: {error}") from None
