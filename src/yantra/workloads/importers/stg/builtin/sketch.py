"""Writing a module operation by operation, with the shards that operations read as text.

>>> norm = Sketch("norm")
>>> x = norm.take("x", "Batch/dp, Seq/cp, Dmodel")
>>> y = norm.each("y", x, operations=5)
>>> [tensor.name for tensor in norm.module().graph]
['x', 'y']
"""

from __future__ import annotations

from yantra.workloads.importers.stg import operators
from yantra.workloads.importers.stg.expressions import Expression, Shape, number
from yantra.workloads.importers.stg.module import Module
from yantra.workloads.importers.stg.parse import parse, parse_shape
from yantra.workloads.importers.stg.tensors import WHOLE, Graph, Spec, Tensor


class Sketch:
    """Collects tensors in order; every method that adds one returns it.

    Inputs are read as they are sharded unless `reads` says otherwise.
    """

    def __init__(self, name: str) -> None:
        self._name = f"built-in {name}"
        self._graph: Graph = []
        self._is_backward = False

    def module(self) -> Module:
        return Module(self._name, self._graph)

    def backward(self) -> None:
        self._is_backward = True

    def take(self, name: str, shard: str, gradient_of: Tensor | None = None) -> Tensor:
        spec = Spec(operators.PLACEHOLDER, parse_shape(shard), where=self._name)
        return self._add(Tensor(name, spec), gradient_of)

    def weight(self, name: str, shard: str) -> Tensor:
        spec = Spec(operators.PLACEHOLDER, parse_shape(shard), where=self._name)
        return self._add(Tensor(name, spec, trained=True), None)

    def reshard(
        self, name: str, x: Tensor, shard: str = "", gradient_of: Tensor | None = None
    ) -> Tensor:
        spec = Spec(operators.IDENTITY, _shape(x, shard), where=self._name)
        return self._add(Tensor(name, spec, x), gradient_of)

    def product(
        self,
        name: str,
        equation: str,
        a: Tensor,
        b: Tensor,
        reads: tuple[str, str] = ("", ""),
        gradient_of: Tensor | None = None,
    ) -> Tensor:
        spec = Spec(
            operators.EINSUM,
            *(_shape(a, reads[0]), WHOLE, _shape(b, reads[1]), WHOLE),
            equation=equation,
            where=self._name,
        )
        return self._add(Tensor(name, spec, a, b), gradient_of)

    def each(
        self, name: str, x: Tensor, operations: int, gradient_of: Tensor | None = None
    ) -> Tensor:
        amount = number(operations)
        spec = Spec(operators.ELEMENTWISE, _shape(x), amount=amount, where=self._name)
        return self._add(Tensor(name, spec, x), gradient_of)

    def pairwise(
        self,
        name: str,
        a: Tensor,
        b: Tensor,
        *,
        adds: bool = False,
        reads: str = "",
        partial: str = "1",
        gradient_of: Tensor | None = None,
    ) -> Tensor:
        """Add one operation per element of two tensors, which are partial sums over `partial`."""
        code = operators.ADD if adds else operators.ELEMENTWISE2
        shard, hidden = _shape(a, reads), parse_shape(partial)
        spec = Spec(code, shard, hidden, shard, hidden, where=self._name)
        return self._add(Tensor(name, spec, a, b), gradient_of)

    def resize(
        self,
        name: str,
        x: Tensor,
        axis: int,
        size: str,
        joined: Tensor | None = None,
        reads: str = "",
        gradient_of: Tensor | None = None,
    ) -> Tensor:
        second = None if joined is None else _shape(joined)
        spec = Spec(
            operators.SLICE,
            *(_shape(x, reads), WHOLE, second, second and WHOLE),
            axis=axis,
            amount=parse(size),
            where=self._name,
        )
        return self._add(Tensor(name, spec, x, joined), gradient_of)

    def scale(self, name: str, x: Tensor, axis: int, factor: str, reads: str = "") -> Tensor:
        """Multiply one size of a tensor: repeated, or summed if below 1."""
        spec = Spec(
            operators.BROADCAST,
            _shape(x, reads),
            axis=axis,
            amount=parse(factor),
            where=self._name,
        )
        return self._add(Tensor(name, spec, x), None)

    def reshape(self, name: str, x: Tensor, shard: str, reads: str = "") -> Tensor:
        shape = parse_shape(shard)
        spec = Spec(operators.RESHAPE, _shape(x, reads), WHOLE, shape, WHOLE, where=self._name)
        return self._add(Tensor(name, spec, x), None)

    def concatenate(self, name: str, a: Tensor, b: Tensor, axis: int, reads: str) -> Tensor:
        shapes = _shape(a), WHOLE, parse_shape(reads), WHOLE
        spec = Spec(operators.CONCATENATE, *shapes, axis=axis, where=self._name)
        return self._add(Tensor(name, spec, a, b), None)

    def formula(
        self,
        name: str,
        x: Tensor,
        operations: Expression,
        shard: str = "",
        *,
        partial: str = "1",
        also: tuple[Tensor, ...] = (),
        gradient_of: Tensor | None = None,
    ) -> Tensor:
        shapes = _shape(x), WHOLE, _shape(x, shard), parse_shape(partial)
        spec = Spec(operators.CUSTOM, *shapes, amount=operations, where=self._name)
        return self._add(Tensor(name, spec, x, also=also), gradient_of)

    def _add(self, tensor: Tensor, gradient_of: Tensor | None) -> Tensor:
        operators.output(tensor.spec)
        tensor.backward = self._is_backward
        tensor.gradient_of = gradient_of
        tensor.weight_gradient = gradient_of is not None and gradient_of.trained
        self._graph.append(tensor)
        return tensor


def _shape(tensor: Tensor, shard: str = "") -> Shape:
    return parse_shape(shard) if shard else operators.output(tensor.spec).shape
