"""Topologies: how the ranks of one dimension are linked, and which way messages go."""

from __future__ import annotations

from typing import Any

from yantra.base.contract import Contract
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind, Use

SKELETON = '''"""my_plugin: a ring in which every rank is also linked to the one opposite.

Trade-off: half as many hops as a ring, for a third link of each rank (two where n is odd).
Source: name the paper or the data sheet that this topology is from.
"""

from yantra.plugin.topology import Block


class MyPlugin(Block):
    # There are as many hops back as there. The contract holds you to it.
    symmetric = True

    def supports(self, n):
        # None, or why n ranks will not do. The text goes on after the name: "my_plugin needs ...".
        if n < 4:
            return f"needs at least 4 ranks, got {n}"
        return None

    def links(self, n):
        # Every directed link once, as (from, to). Ranks are 0 to n-1; with switches(n) there are
        # switches, too: n, n+1 and so on. Bandwidth and latency are those of the dimension.
        steps = (1, -1, n // 2, -(n // 2))
        return sorted({(rank, (rank + step) % n) for rank in range(n) for step in steps})

    # Messages take the shortest way by hops, of several the one by the lowest next device. For
    # other routes say where a message at device `at` to rank `to` goes next:
    #
    #     def next_device(self, n, at, to):
    #         return ...


PLUGIN = MyPlugin
'''


class Topologies(Kind):
    """A class derived from `yantra.plugin.topology.Block`."""

    skeleton = SKELETON

    def registry(self) -> Registry[Any]:
        from yantra.fabric.topologies import topologies

        return topologies

    def contract(self) -> Contract:
        from yantra.fabric.topologies.contract import CONTRACT

        return CONTRACT

    def use(self, file: str) -> Use:
        return Use("yantra run step.yaml", f"in a dimension of step.yaml: kind: {file}")


PLUGIN = Topologies
