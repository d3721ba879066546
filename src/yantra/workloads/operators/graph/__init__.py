"""The operator graph of a chunk of layers: placements, costs, collectives, gradients."""

from yantra.workloads.operators.graph.batch import Batch, Reach, Sequences
from yantra.workloads.operators.graph.graph import Gradient, Graph, Operator, Setting, Use
from yantra.workloads.operators.graph.passes import Passes
from yantra.workloads.operators.graph.tensor import REPLICATED, Placement, Tensor

__all__ = [
    "REPLICATED",
    "Batch",
    "Gradient",
    "Graph",
    "Operator",
    "Passes",
    "Placement",
    "Reach",
    "Sequences",
    "Setting",
    "Tensor",
    "Use",
]
