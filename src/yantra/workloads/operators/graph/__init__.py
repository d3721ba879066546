"""The operator graph of a chunk of layers: placements, costs, collectives, gradients.

| file | pass |
|---|---|
| `tensor.py`, `batch.py` | what operators speak of |
| `graph.py`, `operators/` | a block's operators, each with costs on one rank |
| `reshard.py` | two placements -> collectives |
| `saved.py` | what the forward pass keeps |
| `emit.py`, `passes.py` | operators -> forward and backward pass |
"""

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
