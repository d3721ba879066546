"""Chain tree, which NCCL calls Tree: chains inside nodes, and two binary trees between them.

With l_1 and B_1 from a rank to its node's switch: 2 (g - 1) (2 l_1 + S / (g B_1)), hand-overs, and
`double_binary_tree` over N nodes for S / g bytes.

Trade-off and source: yantra.collectives.node_stages.
"""

from __future__ import annotations

from yantra.collectives.node_stages import OverNodes


class ChainTree(OverNodes):
    """Chains inside nodes, double binary trees between them."""

    inside = "chain"
    between = "trees"


PLUGIN = ChainTree
