"""Schedulers: which of a rank's ready nodes starts first."""

from __future__ import annotations

from typing import Any

from yantra.base.contract import Contract
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind, Use

SKELETON = '''"""my_plugin: of the nodes that are ready, the one that takes longest starts first.

Trade-off: it balances slots that are many, and does not look at what waits behind a node.
Source: Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied Mathematics
1969.
"""

from yantra.plugin.scheduler import Scheduler


class MyPlugin(Scheduler):
    # True if collectives are to go first in this order, too, in place of collectives.priority.
    orders_collectives = False

    def priorities(self, nodes):
        # Columns of numpy, a row for each node by ascending id: nodes.kind, slot, ps (picoseconds
        # alone), bytes; its children are nodes.child[child_begin[row]:child_begin[row + 1]], and
        # nodes.longest_to_end() has the longest path behind each. Whole numbers come back, one a
        # node: of those that wait for a slot the highest starts first, of equal ones that of the
        # lowest id.
        return nodes.ps


PLUGIN = MyPlugin
'''


class Schedulers(Kind):
    """A class derived from `yantra.plugin.scheduler.Scheduler`."""

    skeleton = SKELETON

    def registry(self) -> Registry[Any]:
        from yantra.schedulers import schedulers

        return schedulers

    def contract(self) -> Contract:
        from yantra.kinds.scheduler_laws import CONTRACT

        return CONTRACT

    def use(self, file: str) -> Use:
        return Use("yantra run step.yaml", f"in step.yaml: scheduler: {file}")


PLUGIN = Schedulers
