"""What a scheduler is: one priority for each node of a job.

A rank starts a node when all before it have ended and a slot is free. Where several wait for one
slot, that of the highest priority starts first, of equal ones the first by id (list scheduling:
Adam, Chandy and Dickson, "A comparison of list schedules for parallel processing systems", CACM
1974). A scheduler is asked once for each job that differs, when a scenario is compiled, so a run
asks nobody. Trade-off: it sees a job and not the run, so it cannot react to what happens there. And
it sees one rank: ranks of a group that get different priorities may start the collectives of that
group in different orders, and then wait for each other. Ranks with equal jobs never do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from yantra.base.fields import Section
from yantra.base.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    import numpy as np
    from numpy.typing import NDArray

    Wholes = NDArray[np.int64]

KINDS = ("compute", "collective", "send", "receive", "memory", "nothing")
COMPUTE, COLLECTIVE, SEND, RECEIVE, MEMORY, NOTHING = range(len(KINDS))
"""Kinds of nodes, as their codes; compute is all that takes a known time, on a CPU, too."""


class Nodes(Record):
    """The nodes of a job by ascending id, as columns of equal length that cannot be written to.

    `ps` is how long a node takes alone, in picoseconds: of compute what is simulated, of messages,
    collectives and memory an estimate (latency, and bytes over the narrowest bandwidth). `slot` is
    the kind of slot that a node holds, a place in `slots`, or -1 for none; `slots` says how many
    there are. The children of row n are the rows `child[child_begin[n]:child_begin[n + 1]]`.
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
        """Return the number of nodes."""
        return len(self.id)

    def describe(self, row: int) -> str:
        """Return a node in words, for errors."""
        return f"node {self.id[row]} ({KINDS[self.kind[row]]}, {self.ps[row]} ps)"

    def children_first(self) -> list[int]:
        """Return the rows in an order in which all children of a node stand before it.

        Nodes on cycles, which never start, are left out, and so is what waits for them.
        """
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
        """Return by node the longest path from its start to the end of the job, in picoseconds."""
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
    scheduler also says which collective goes first, in place of `collectives.priority`. `native` is
    the order that the core keeps itself, without being told.
    """

    options: ClassVar[Section | None] = None
    orders_collectives: ClassVar[bool] = False
    native: ClassVar[bool] = False

    def __init__(self, options: Any = None) -> None:
        """Keep the options, as the record of `self.options`."""
        self.given = options

    @abstractmethod
    def priorities(self, nodes: Nodes) -> NDArray[Any]:
        """Return one whole number for each node: of those that wait for a slot, the highest first.

        The same nodes get the same numbers, whenever and however often they are asked for.
        """

    def collective_priorities(self, nodes: Nodes) -> NDArray[Any]:
        """Return one whole number for each node; those of collectives count, the highest first.

        Asked with `orders_collectives` alone. The numbers are what `comm_priority` of a trace is.
        """
        return self.priorities(nodes)
