"""CollNetChain: shares go along chains in a node, and switches add between nodes.

The share of place k, the g-th of the data for g ranks a node, is summed up from place k + 1 on
around the node to place k, which has it added over p trees of switches of h levels, each on its own
rail; then it goes the chain back. Alone, with l_1 and B_1 from a rank to its node's switch, l_2 and
B_2 of every link between nodes, and hand-overs of d ns, it takes

    (2 g + 1) d + 2 (g - 1) (2 l_1 + S / (g B_1)) + 2 h (l_2 + S / (g p B_2))

Trade-off and source: yantra.collectives.node_stages.
"""

from __future__ import annotations

from yantra.collectives.node_stages import OverNodes


class CollNetChain(OverNodes):
    """Chains inside nodes, SHARP between them."""

    inside = "chain"
    between = "sharp"


PLUGIN = CollNetChain
