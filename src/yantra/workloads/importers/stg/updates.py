"""The weight update: every weight plus its gradient, as an addition.

Source: astra-sim/stage@9ec6c02, the pass GradUpdater.
"""

from __future__ import annotations

from yantra.workloads.importers.stg import operators
from yantra.workloads.importers.stg.tensors import Graph, Spec, Tensor


def updates(graph: Graph) -> Graph:
    gradients = {tensor.gradient_of: tensor for tensor in graph if tensor.gradient_of is not None}
    made: Graph = []
    for weight in graph:
        if weight.trained:
            spec = weight.spec
            shape, hidden = spec.x1_shape, spec.x1_hidden
            adding = Spec(operators.ADD, shape, hidden, shape, hidden, where=spec.where)
            updated = Tensor(f"{weight.name}@1", adding, weight, gradients[weight], backward=True)
            updated.unit = weight.unit
            made.append(updated)
    return made
