"""`Shared`: what follows from a pass whatever its layers' numbers, found once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from yantra.workloads.training.step.passes import Drafted

Found = TypeVar("Found")


class Shared(Generic[Found]):
    """Answers of a function of a drafted pass, kept by draft."""

    def __init__(self, find: Callable[[Drafted], Found]) -> None:
        self._find = find
        self._found: dict[int, tuple[Drafted, Found]] = {}

    def of(self, drafted: Drafted) -> Found:
        """The answer for a pass; `find` gets the draft that it repeats."""
        like = drafted.like
        known = self._found.get(id(like))
        if known is None:  # a kept draft keeps its id
            known = self._found[id(like)] = (like, self._find(like))
        return known[1]
