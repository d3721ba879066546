"""What a scheduler is: one priority for each node of a job.

A rank starts a node when its predecessors have ended and a slot is free: that of the highest
priority, then the lowest id (list scheduling: Adam, Chandy and Dickson, "A comparison of list
schedules for parallel processing systems", CACM 1974). It sees one rank: ranks of a group with
different priorities may start its collectives in different orders and wait for each other; ranks
with equal jobs never do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from yantra.base.fields import Section
from yantra.base.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Wholes = NDArray[np.int64]

KINDS = ("compute", "collective", "send", "receive", "memory", "nothing")
COMPUTE, COLLECTIVE, SEND, RECEIVE, MEMORY, NOTHING = range(len(KINDS))
"""Codes of node kinds; compute is all that takes a known time, on a CPU too."""


class Nodes(Record):
    """A job's nodes by ascending id, as read-only columns of equal length.

    `ps` is a node's time alone in picoseconds: simulated for compute, estimated for messages,
    collectives and memory (latency, and bytes over the narrowest bandwidth). `slot` is its place in
    `slots`, which counts them, or -1 for none. Row n's children are the rows
    `child[child_begin[n]:child_begin[n + 1]]`.
    """

    id: NDArray[np.uint64]
    kind: NDArray[np.uint8]
    slot: Wholes
    ps: Wholes
    bytes: NDArray[np.uint64]
    child_begin: Wholes
    child: Wholes
    slots: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.id)

    def describe(self, row: int) -> str:
        """A node in words, for errors."""
        return f"node {self.id[row]} ({KINDS[self.kind[row]]}, {self.ps[row]} ps)"

    def children_first(self) -> list[int]:
        """The rows with all children of a node before it."""
        import numpy as np

        begin, child = self.child_begin.tolist(), self.child.tolist()
        parents = np.bincount(self.child, minlength=len(self)).tolist()
        order = [row for row, count in enumerate(parents) if not count]
        for row in order:  # which grows
            for after in child[begin[row] : begin[row + 1]]:
                parents[after] -= 1
                if not parents[after]:
                    order.append(after)
        return order[::-1]

    def longest_to_end(self) -> Wholes:
        import numpy as np

        begin, child = self.child_begin.tolist(), self.child.tolist()
        longest = self.ps.tolist()
        for row in self.children_first():
            after = child[begin[row] : begin[row + 1]]
            if after:
                longest[row] += max([longest[node] for node in after])
        return np.array([min(path, 2**63 - 1) for path in longest], np.int64)


class Scheduler(ABC):
    """One order in which ready nodes start.

    `options` describes what a scenario may set, None for nothing. With `orders_collectives` the
    scheduler replaces `collectives.priority`. `native` is an order the core keeps itself.
    """

    options: ClassVar[Section | None] = None
    orders_collectives: ClassVar[bool] = False
    native: ClassVar[bool] = False

    def __init__(self, options: Any = None) -> None:
        """Keep the options, as the record of `self.options`."""
        self.given = options

    @abstractmethod
    def priorities(self, nodes: Nodes) -> NDArray[Any]:
        """A whole number for each node: of those waiting for a slot, the highest starts first.

        Equal nodes always get equal numbers.
        """

    def collective_priorities(self, nodes: Nodes) -> NDArray[Any]:
        """A whole number for each node; collectives start by the highest, as by `comm_priority`.

        Used with `orders_collectives`.
        """
        return self.priorities(nodes)
