"""Chain tree, which NCCL calls Tree: chains inside nodes, and two binary trees between them.

The share of place k, the g-th of the data for g ranks a node, is summed up along a chain around the
node to place k; equal places sum shares up over a double binary tree, each on its own rail; then
shares go the chains back. Alone, with l_1 and B_1 from a rank to its node's switch, it takes
2 (g - 1) (2 l_1 + S / (g B_1)), hand-overs, and what `double_binary_tree` takes over the N nodes
for S / g bytes.

Trade-off and source: yantra.collectives.node_stages.
"""

from __future__ import annotations

from yantra.collectives.node_stages import OverNodes


class ChainTree(OverNodes):
    """Chains inside nodes, double binary trees between them."""

    inside = "chain"
    between = "trees"


PLUGIN = ChainTree
