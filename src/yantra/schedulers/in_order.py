"""in_order: ready nodes start in the order of their ids, as in ASTRA-sim.

Right where ids follow the order of issue, as in recorded traces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.schedulers.scheduler import Nodes, Scheduler

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class InOrder(Scheduler):
    """The first by id starts first, as in ASTRA-sim."""

    native = True

    def priorities(self, nodes: Nodes) -> NDArray[np.int64]:
        """Zeros; see the base."""
        import numpy as np

        return np.zeros(len(nodes), np.int64)


PLUGIN = InOrder
