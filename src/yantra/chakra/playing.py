"""`PassPlayer`: a pipeline device's template, made of copies of its passes.

Computations and each communicator's collectives are chained in program order.
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
    """Differences of a pass from a similar one of other layers.

    `layers` is added to layer numbers, `tags` to tags below `first_inner`, `inner_tags` to others.
    """

    layers: int = 0
    chunk: int = 0
    tags: int = 0
    inner_tags: int = 0
    first_inner: int = 0

    def text(self, text: str) -> str:
        return _core.with_layers(text, self.layers) if self.layers else text

    def tag(self, tag: int) -> int:
        return tag + (self.inner_tags if tag >= self.first_inner else self.tags)


@cache  # for its metadata alone
def _empty() -> Trace:
    return Trace()


class Place(NamedTuple):
    """A pass's chunk, its name for others, and whose tensor it takes.

    `beside`: the chunk on this device that makes it, in a pass of direction `neighbour`.
    """

    chunk: int
    direction: _core.PassSource | None
    neighbour: _core.PassSource | None
    beside: int | None


class PassPlayer:
    """Collects copies of passes; collectives of `gradient_groups` are gradients'."""

    def __init__(self, gradient_groups: Iterable[str], tags_each: int) -> None:
        """`tags_each`: distance of a micro-batch's tags from the previous one's."""
        self._native = _core.Player(_empty().native, sorted(gradient_groups))
        self._tags = tags_each

    def add(
        self,
        one: _core.EncodedPass,
        blocking: Sequence[int] = (),
        place: Place | None = None,
        moved: Moved | None = None,
    ) -> int:
        """Add a playable pass; return its number. `blocking` are keys."""
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
        self._checked(self._native.play_each, passes, microbatches, self._tags)

    def play_in_turns(
        self,
        passes: Sequence[int],
        microbatches: Sequence[int],
        turns: Sequence[tuple[int, int]],
    ) -> None:
        """Play passes together: `turns` has the pass and the segment."""
        self._checked(self._native.play_in_turns, passes, microbatches, turns, self._tags)

    def finish(self, number: int) -> None:
        self._checked(self._native.finish, number)

    def copies(self) -> Copies:
        return Copies(self._native.stamper)

    @staticmethod
    def _checked(call: object, *arguments: object) -> None:
        try:
            call(*arguments)  # type: ignore[operator]
        except (ValueError, IndexError) as error:
            raise InternalError(f"a pass cannot be played: {error}") from None
