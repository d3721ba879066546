"""Tensors as in the sheets: each is made by one operator from at most two others.

A `Spec` (operator and inputs' shards) is shared by copies of a block, so shapes are computed once;
a `Tensor` is a place of the graph.

A shape has one rank's sizes (`Batch/dp`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from yantra.workloads.importers.stg.expressions import Expression, Shape, number

WHOLE: Shape = (number(1),)
"""Hidden sizes of a tensor without partial sums."""

FRONT, TAIL = "front", "tail"


class Spec(NamedTuple):
    """An operator with the shards it reads; its codes are in `operators.py`."""

    code: str
    x1_shape: Shape
    x1_hidden: Shape = WHOLE
    x2_shape: Shape | None = None
    x2_hidden: Shape | None = None
    equation: str = ""
    """Of an einsum: `bsm,mn->bsn`."""
    axis: int = 0
    """Of a broadcast, slice or concatenation."""
    amount: Expression = number(1)
    """Factor of a broadcast, new size of a slice, operations per element or in all."""
    where: str = ""
    """Where it was written, for errors."""

    def substitute(self, replacements: Mapping[str, Expression]) -> Spec:
        def replaced(shape: Shape) -> Shape:
            return tuple(size.substitute(replacements) for size in shape)

        return self._replace(
            x1_shape=replaced(self.x1_shape),
            x1_hidden=replaced(self.x1_hidden),
            x2_shape=self.x2_shape and replaced(self.x2_shape),
            x2_hidden=self.x2_hidden and replaced(self.x2_hidden),
            amount=self.amount.substitute(replacements),
        )


class Tensor:
    """`unit` is a layer's number, `front` or `tail`; `micro_batch` None is shared by all.
    `backward`: of the backward pass.
    """

    __slots__ = (
        "also",
        "backward",
        "gradient_of",
        "micro_batch",
        "name",
        "spec",
        "trained",
        "unit",
        "weight_gradient",
        "x1",
        "x2",
    )

    def __init__(
        self,
        name: str,
        spec: Spec,
        x1: Tensor | None = None,
        x2: Tensor | None = None,
        *,
        also: tuple[Tensor, ...] = (),
        trained: bool = False,
        backward: bool = False,
        weight_gradient: bool = False,
    ) -> None:
        self.name = name
        self.spec = spec
        self.x1 = x1
        self.x2 = x2
        self.also = also
        self.trained = trained
        self.backward = backward
        self.weight_gradient = weight_gradient
        self.gradient_of: Tensor | None = None
        self.unit: int | str = FRONT
        self.micro_batch: int | None = None

    def __repr__(self) -> str:
        return f"<Tensor {self.name}>"


Graph = list[Tensor]
"""Tensors in the order of their operations, which decides ids."""


def copied(
    graph: Iterable[Tensor],
    rename: Callable[[str], str],
    respec: Callable[[Spec], Spec] = lambda spec: spec,
) -> Graph:
    twins: dict[Tensor, Tensor] = {}
    for old in graph:
        new = twins[old] = Tensor.__new__(Tensor)
        new.name = rename(old.name)
        new.spec = respec(old.spec)
        new.x1, new.x2, new.also = old.x1, old.x2, old.also
        new.trained, new.backward = old.trained, old.backward
        new.weight_gradient, new.gradient_of = old.weight_gradient, old.gradient_of
        new.unit, new.micro_batch = old.unit, old.micro_batch
    relink(twins.values(), twins)
    return list(twins.values())


def relink(graph: Iterable[Tensor], twins: Mapping[Tensor, Tensor]) -> None:
    for tensor in graph:
        if tensor.x1 is not None:
            tensor.x1 = twins.get(tensor.x1, tensor.x1)
        if tensor.x2 is not None:
            tensor.x2 = twins.get(tensor.x2, tensor.x2)
        if tensor.also:
            tensor.also = tuple(twins.get(other, other) for other in tensor.also)
        if tensor.gradient_of is not None:
            tensor.gradient_of = twins.get(tensor.gradient_of, tensor.gradient_of)


def substituting(replacements: Mapping[str, Expression]) -> Callable[[Spec], Spec]:
    known: dict[int, tuple[Spec, Spec]] = {}

    def respec(spec: Spec) -> Spec:
        found = known.get(id(spec))
        if found is None:
            found = known[id(spec)] = spec, spec.substitute(replacements)
        return found[1]

    return respec
