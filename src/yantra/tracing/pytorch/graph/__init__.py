"""From a linked trace to a graph that replays the measured timeline."""

from yantra.tracing.pytorch.graph.build import build, graph_of
from yantra.tracing.pytorch.graph.columns import columns_of
from yantra.tracing.pytorch.graph.nodes import Columns, Graph, GraphNode, GraphOptions

__all__ = ["Columns", "Graph", "GraphNode", "GraphOptions", "build", "columns_of", "graph_of"]
