"""NVLSTree: switches of a node add and copy, and two binary trees of nodes join equal places.

Rank k of a node loads the sum of its share, the g-th of the data for g ranks a node; equal places
sum shares up over a double binary tree, each on its own rail; then rank k stores its share to all
of its node. Alone it takes what `nvls` takes in a node of g ranks, and what `double_binary_tree`
takes over the N nodes for S / g bytes.

Trade-off and source: yantra.collectives.node_stages.
"""

from __future__ import annotations

from yantra.collectives.node_stages import OverNodes


class NvlsTree(OverNodes):
    """NVLS inside nodes, double binary trees between them."""

    inside = "nvls"
    between = "trees"


PLUGIN = NvlsTree
