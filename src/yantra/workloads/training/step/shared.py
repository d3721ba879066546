"""`Shared`: what follows from a pass whatever its layers are called, found once for all alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from yantra.workloads.training.step.passes import Drafted

Found = TypeVar("Found")


class Shared(Generic[Found]):
    """Answers of a function of a pass as it is drafted, kept by the draft."""

    def __init__(self, find: Callable[[Drafted], Found]) -> None:
        self._find = find
        self._found: dict[int, tuple[Drafted, Found]] = {}

    def of(self, drafted: Drafted) -> Found:
        """Return the answer for a pass; `find` is given the draft that it is like."""
        like = drafted.like
        known = self._found.get(id(like))
        if known is None:  # a draft that is kept keeps its id
            known = self._found[id(like)] = (like, self._find(like))
        return known[1]
