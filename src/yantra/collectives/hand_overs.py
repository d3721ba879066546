"""Which hand-overs of the exchange machine are charged a reduction or use a shared bus."""

from __future__ import annotations

from itertools import pairwise, repeat
from typing import TYPE_CHECKING, NamedTuple

from yantra.collectives.program import Side
from yantra.collectives.schedule import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator


class HandOvers(NamedTuple):
    """`length` equal hand-overs in a row."""

    length: int
    side: Side
    back: bool
    reduce: bool

    def singly(self) -> Iterator[HandOvers]:
        return repeat(self._replace(length=1), self.length)


def plain(total: int, window: int, reduced: int) -> Iterator[HandOvers]:
    cuts = (0, window, window + reduced, total - window, total)
    for first, last in pairwise(sorted(cut for cut in cuts if cut <= total)):
        if first < last:
            received = first >= window
            yield HandOvers(
                last - first,
                "nz" if received else "z",
                received and first < total - window,
                received and first < window + reduced,
            )


def astra_sim(kind: Kind, total: int, window: int, group: int) -> Iterator[HandOvers]:
    """ASTRA-sim's order: every nz packet but the last `window` of its group travels back."""
    left, odd_group = total, False
    while left > 0:
        odd_group = not odd_group
        reduce = kind is Kind.REDUCE_SCATTER or (kind is Kind.ALL_REDUCE and odd_group)
        for stretch in (
            HandOvers(window, "z", False, False),
            HandOvers(max(group - window, 0), "nz", True, reduce),
            HandOvers(min(group, window), "nz", False, reduce),
        ):
            length = min(stretch.length, left)
            if length:
                yield stretch._replace(length=length)
            left -= length
