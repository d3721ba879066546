"""From a linked trace to a graph that replays the measured timeline."""

from yantra.tracing.pytorch.graph.assemble import build
from yantra.tracing.pytorch.graph.nodes import Graph, GraphNode, GraphOptions

__all__ = ["Graph", "GraphNode", "GraphOptions", "build"]
