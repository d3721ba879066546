"""What a form of requests is: which columns it has, and what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from yantra.serving.requests.types import MOST_TOKENS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from yantra.serving.requests.cells import Cells

Columns = dict[str, Any]
"""Columns of requests by name, before they are checked and sorted: each is an array."""

MOST = 2**62 - 1
_LEAST_PRIORITY = -(2**31)


class Form:
    needs: ClassVar[Mapping[str, tuple[str, ...]]]
    """What each column of requests that must be there may be called in the file."""
    may: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """The same of columns that may be missing."""
    measures: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """The same of what an engine measured, in seconds."""
    is_document: ClassVar[bool] = False
    """Whether the file is one JSON value, and no table."""
    unit_ns: ClassVar[int] = 10**9
    """The unit of times, where they are numbers."""
    has_all: ClassVar[bool] = False
    """Whether the form names every column, so that any other is one misspelled."""
    fails: ClassVar[bool] = False
    """Whether requests without output are those that failed, which are left out."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def block(self, cells: Cells) -> Columns:
        """Return the columns of a block's requests. Raises ConfigError."""
        names = self.names
        least = 0 if self.fails else 1
        found: Columns = {
            "arrival_ns": cells.times_ns(
                names["arrival_ns"], self.unit_ns, -1 if "after" in names else None
            ),
            "prompt": cells.whole(names["prompt"], least, MOST_TOKENS),
            "output": cells.whole(names["output"], least, MOST_TOKENS),
        }
        if "limit" in names:
            limit = cells.whole(names["limit"], least, MOST_TOKENS, 0)
            found["limit"] = np.where(limit == 0, found["output"], limit)
        if "priority" in names:
            name = names["priority"]
            found["priority"] = cells.whole(name, _LEAST_PRIORITY, MOST, 0, "")
        for name in ("user", "adapter", "session"):
            if name in names:
                found[name] = np.array(cells.texts(names[name]), object)
        for name in self.measures:
            if name in names:
                found[name] = cells.floats(names[name])
        return found

    def document(self, tree: list[Any], where: str) -> Columns:
        """Return the columns of the requests of all objects in a file. Raises ConfigError."""
        raise NotImplementedError

    def finish(self, columns: Columns) -> None:
        """Add to the columns of the whole file what follows from all blocks."""


def spans_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
