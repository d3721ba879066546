"""CollNetChain: shares go along chains in a node, and switches add between nodes.

With l_1 and B_1 from a rank to its node's switch, l_2 and B_2 between nodes, and hand-overs of d
ns:

    (2 g + 1) d + 2 (g - 1) (2 l_1 + S / (g B_1)) + 2 h (l_2 + S / (g p B_2))

Trade-off and source: yantra.collectives.node_stages.
"""

from __future__ import annotations

from yantra.collectives.node_stages import OverNodes


class CollNetChain(OverNodes):
    inside = "chain"
    between = "sharp"


PLUGIN = CollNetChain
