"""critical_path: the node with the longest path to the end of its job starts first.

Trade-off: one rank's path, with estimated messages and collectives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.schedulers.scheduler import Nodes, Scheduler

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CriticalPath(Scheduler):
    def priorities(self, nodes: Nodes) -> NDArray[np.int64]:
        return nodes.longest_to_end()


PLUGIN = CriticalPath
