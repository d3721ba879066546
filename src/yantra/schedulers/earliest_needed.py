"""earliest_needed: of messages and collectives, those whose result is needed first go first.

The node that needs a result is its first child by id; without one it comes last. Other nodes keep
id order. Chunks of concurrent collectives are served in the same order. Trade-off: right where ids
follow the program. An early large collective holds back small ones. Source: Jayarajan et al.,
"Priority-based Parameter Propagation for Distributed DNN Training", MLSys 2019; Peng et al., "A
Generic Communication Scheduler for Distributed DNN Training Acceleration" (ByteScheduler), SOSP
2019.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.schedulers.scheduler import COLLECTIVE, RECEIVE, SEND, Nodes, Scheduler

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class EarliestNeeded(Scheduler):
    """Messages and collectives by when results are needed; all else by id."""

    orders_collectives = True

    def priorities(self, nodes: Nodes) -> NDArray[np.int64]:
        """The first child's row, counted down, or the node's; see the base."""
        import numpy as np

        own = np.arange(len(nodes))
        first_child = np.full(len(nodes), len(nodes))
        np.minimum.at(first_child, np.repeat(own, np.diff(nodes.child_begin)), nodes.child)
        communicates = np.isin(nodes.kind, (COLLECTIVE, SEND, RECEIVE))
        return -np.where(communicates, first_child, own)


PLUGIN = EarliestNeeded
