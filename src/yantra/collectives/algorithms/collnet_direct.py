"""CollNetDirect: shares go directly to their places in a node, and switches add between nodes.

With l_1 and B_1 from a rank to its node's switch, l_2 and B_2 between nodes, and hand-overs of d
ns:

    4 d + 2 (2 l_1 + (1 - 1 / g) S / B_1) + 2 h (l_2 + S / (g p B_2))

Trade-off and source: yantra.collectives.node_stages.
"""

from __future__ import annotations

from yantra.collectives.node_stages import OverNodes


class CollNetDirect(OverNodes):
    """Direct exchanges inside nodes, SHARP between them."""

    inside = "direct"
    between = "sharp"


PLUGIN = CollNetDirect
