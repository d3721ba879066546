"""earliest_needed: of messages and collectives, those whose result is needed first go first.

A result is needed by the first child, in the order of ids, of the node that fetches it; what
nothing waits for comes last. All other nodes keep the order of ids. Where several collectives share
the network, their chunks are served in the same order.
Trade-off: right where ids follow the order of the program. A large collective that is needed early
holds back small ones that would have been through.
Source: Jayarajan et al., "Priority-based Parameter Propagation for Distributed DNN Training", MLSys
2019; Peng et al., "A Generic Communication Scheduler for Distributed DNN Training Acceleration"
(ByteScheduler), SOSP 2019.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.schedulers.scheduler import COLLECTIVE, RECEIVE, SEND, Nodes, Scheduler

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class EarliestNeeded(Scheduler):
    """Of messages and collectives, those whose result is needed first; all else by id."""

    orders_collectives = True

    def priorities(self, nodes: Nodes) -> NDArray[np.int64]:
        """Return the row of the first child, counted down, or that of the node; see the base."""
        import numpy as np

        own = np.arange(len(nodes))
        first_child = np.full(len(nodes), len(nodes))
        np.minimum.at(first_child, np.repeat(own, np.diff(nodes.child_begin)), nodes.child)
        communicates = np.isin(nodes.kind, (COLLECTIVE, SEND, RECEIVE))
        return -np.where(communicates, first_child, own)


PLUGIN = EarliestNeeded
