"""critical_path: the node with the longest path to the end of its job starts first.

Trade-off: the path is that of one rank, with estimates for messages and collectives, so what other
ranks wait for counts only as far as this rank's own job goes on behind it.
Source: "highest level first with estimated times" (HLFET) of Adam, Chandy and Dickson, "A
comparison of list schedules for parallel processing systems", CACM 1974; compared with others by
Kwok and Ahmad, "Static scheduling algorithms for allocating directed task graphs to
multiprocessors", ACM Computing Surveys 1999, which calls the path the static b-level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.schedulers.scheduler import Nodes, Scheduler

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CriticalPath(Scheduler):
    """The longest path to the end of the job first."""

    def priorities(self, nodes: Nodes) -> NDArray[np.int64]:
        """Return the longest path from the start of each node to the end; see the base."""
        return nodes.longest_to_end()


PLUGIN = CriticalPath
