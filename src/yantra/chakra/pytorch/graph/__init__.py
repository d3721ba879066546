"""From a linked trace to a graph whose replay gives the measured timeline."""

from yantra.chakra.pytorch.graph.assemble import build
from yantra.chakra.pytorch.graph.nodes import Graph, GraphNode, GraphOptions

__all__ = ["Graph", "GraphNode", "GraphOptions", "build"]
