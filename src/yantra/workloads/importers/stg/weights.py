"""A block's weights as one flat vector, as in FSDP and data-parallel buckets.

Source: astra-sim/stage@9ec6c02, the pass FSDPWeightGradManager.
"""

from __future__ import annotations

from functools import reduce
from operator import add

from yantra.base.errors import ConfigError
from yantra.workloads.importers.stg import operators
from yantra.workloads.importers.stg.expressions import Shape, number, symbol, volume
from yantra.workloads.importers.stg.tensors import Graph, Spec, Tensor, relink


def weights_of(graph: Graph) -> list[tuple[Tensor, Tensor]]:
    """Trained placeholders, each with its gradient."""
    gradients = {tensor.gradient_of: tensor for tensor in graph if tensor.gradient_of is not None}
    found = []
    for tensor in graph:
        if tensor.trained and tensor.spec.code == operators.PLACEHOLDER:
            if tensor not in gradients:
                problem = "expected a row whose grad_of is this weight, found none"
                raise ConfigError(tensor.spec.where or tensor.name, problem)
            found.append((tensor, gradients[tensor]))
    return found


def fuse(block: Graph) -> Graph:
    """Make a block's weights views of one sharded vector."""
    pairs = weights_of(block)
    if not pairs:
        return block
    weights, gradients = [weight for weight, _ in pairs], [gradient for _, gradient in pairs]
    flat = (reduce(add, (volume(weight.spec.x1_shape) for weight in weights)),)
    shard = (flat[0] / symbol("fsdp"),)
    sharded = Tensor("_sharded_weight", Spec(operators.PLACEHOLDER, shard), trained=True)
    gathering = Spec(operators.IDENTITY, flat)
    gathered = Tensor("_assembled_weight", gathering, sharded)
    again = Tensor("_assembled_weight_backward", gathering, sharded, backward=True)
    reduced = _reduced(gradients, sharded, flat)
    views = [_view(weight, again) for weight in weights]
    for weight in weights:
        weight.spec = _view_spec(weight.spec, flat)
        weight.trained = False
        weight.x1 = gathered
    twins = dict(zip(weights, views, strict=True))
    for tensor in block:
        if tensor.backward:
            origin = tensor.gradient_of
            relink([tensor], twins)
            tensor.gradient_of = origin
    return [*block, sharded, gathered, *reduced, *views, again]


def _view(weight: Tensor, gathered: Tensor) -> Tensor:
    name = f"_{weight.name}_backward"
    return Tensor(name, _view_spec(weight.spec, gathered.spec.x1_shape), gathered, backward=True)


def _view_spec(weight: Spec, flat: Shape) -> Spec:
    return weight._replace(
        code=operators.CUSTOM,
        x1_shape=flat,
        x2_shape=weight.x1_shape,
        x2_hidden=weight.x1_hidden,
        amount=number(0),
    )


def _reduced(gradients: list[Tensor], sharded: Tensor, flat: Shape) -> Graph:
    first = operators.output(gradients[0].spec)
    joining = Spec(
        operators.CUSTOM, first.shape, first.hidden, flat, first.hidden, amount=number(0)
    )
    joined = Tensor(
        "_assembled_grad",
        joining,
        gradients[0],
        also=tuple(gradients[1:]),
        backward=True,
        weight_gradient=True,
    )
    scattering = Spec(operators.IDENTITY, sharded.spec.x1_shape)
    result = Tensor("_sharded_grad", scattering, joined, backward=True, weight_gradient=True)
    result.gradient_of = sharded
    return [result, joined]
