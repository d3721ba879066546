"""NVLSTree: switches of a node add and copy, and two binary trees of nodes join equal places.

Trade-off and source: yantra.collectives.node_stages.
"""

from __future__ import annotations

from yantra.collectives.node_stages import OverNodes


class NvlsTree(OverNodes):
    """NVLS inside nodes, double binary trees between them."""

    inside = "nvls"
    between = "trees"


PLUGIN = NvlsTree
