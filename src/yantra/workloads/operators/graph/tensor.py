"""Tensors of one micro-batch, with named dimensions and, for each axis of parallelism, a placement:
replicated, a dimension sharded, or partial sums.

Source: Xu et al., GSPMD, 2021, section 3; for even shards only.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.base.errors import InternalError


class Placement(NamedTuple):
    """`shards` are (dimension, axis) pairs, outer axes first; `partial` the axes of partial sums.

    Other axes replicate the tensor.
    """

    shards: tuple[tuple[str, str], ...] = ()
    partial: tuple[str, ...] = ()

    def dimension_of(self, axis: str) -> str | None:
        """The dimension that `axis` shards, or None."""
        for dimension, by in self.shards:
            if by == axis:
                return dimension
        return None

    def axes(self) -> set[str]:
        return {axis for _, axis in self.shards} | set(self.partial)

    def without(self, axis: str) -> Placement:
        """With `axis` replicating."""
        shards = tuple(pair for pair in self.shards if pair[1] != axis)
        return Placement(shards, tuple(other for other in self.partial if other != axis))

    def sharding(self, dimension: str, axis: str) -> Placement:
        """With `axis` sharding `dimension`, inside its other shards."""
        rest = self.without(axis)
        return Placement((*rest.shards, (dimension, axis)), rest.partial)

    def adding(self, axes: set[str]) -> Placement:
        """With partial sums over `axes`."""
        return Placement(self.shards, tuple(sorted({*self.partial, *axes})))

    def dual(self) -> Placement:
        """The gradient's placement: partial sums have whole gradients."""
        return Placement(self.shards)


REPLICATED = Placement()


class Tensor(NamedTuple):
    """`gathered`: bytes an element while it, or its gradient, is gathered for products that round
    it first; None: `width`.
    """

    number: int
    name: str
    sizes: tuple[tuple[str, int], ...]
    placement: Placement
    width: int
    gathered: float | None = None

    def size(self, dimension: str) -> int:
        for name, size in self.sizes:
            if name == dimension:
                return size
        raise KeyError(dimension)

    def elements(self) -> int:
        elements = 1
        for _, size in self.sizes:
            elements *= size
        return elements


def local_size(size: int, ways: int, what: str) -> int:
    if size % ways:
        raise InternalError(f"{what}: {size} is not divisible by {ways}")
    return size // ways
