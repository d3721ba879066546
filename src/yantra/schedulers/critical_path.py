"""critical_path: the node with the longest path to the end of its job starts first.

Trade-off: one rank's path, with estimated messages and collectives, so other ranks' waits count
only as far as this rank goes on. Source: "highest level first with estimated times" (HLFET) of
Adam, Chandy and Dickson, "A comparison of list schedules for parallel processing systems", CACM
1974; the static b-level of Kwok and Ahmad, "Static scheduling algorithms for allocating directed
task graphs to multiprocessors", ACM Computing Surveys 1999.
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
        """The longest path from each node's start to the end; see the base."""
        return nodes.longest_to_end()


PLUGIN = CriticalPath
