"""in_order: ready nodes start in the order of their ids, as in ASTRA-sim.

Right for traces whose ids follow the order in which a program issued its work, as recorded ones do.
"""

from __future__ import annotations

from yantra.schedulers.scheduler import Nodes, Scheduler

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class InOrder(Scheduler):
    """The first by id starts first, as in ASTRA-sim."""

    native = True

    def priorities(self, nodes: Nodes) -> NDArray[np.int64]:
        """Return zeros; see the base."""
        import numpy as np

        return np.zeros(len(nodes), np.int64)


PLUGIN = InOrder
