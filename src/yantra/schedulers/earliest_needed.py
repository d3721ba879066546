"""earliest_needed: of messages and collectives, those whose result is needed first go first.

Other nodes keep id order. Trade-off: right where ids follow the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.schedulers.scheduler import COLLECTIVE, RECEIVE, SEND, Nodes, Scheduler

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class EarliestNeeded(Scheduler):
    orders_collectives = True

    def priorities(self, nodes: Nodes) -> NDArray[np.int64]:
        import numpy as np

        own = np.arange(len(nodes))
        first_child = np.full(len(nodes), len(nodes))
        np.minimum.at(first_child, np.repeat(own, np.diff(nodes.child_begin)), nodes.child)
        communicates = np.isin(nodes.kind, (COLLECTIVE, SEND, RECEIVE))
        return -np.where(communicates, first_child, own)


PLUGIN = EarliestNeeded
