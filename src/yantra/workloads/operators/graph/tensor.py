"""Tensors of one micro-batch and where their parts lie.

A tensor has named dimensions of global sizes (global within one replica of the model) and, for each
axis of parallelism, one of three placements: it is replicated, a dimension is sharded, or the ranks
hold partial sums. That is the notation of GSPMD (Xu et al., 2021, section 3) and of STAGE's
spreadsheets ("hidden" dimensions), restricted to even shards.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.base.errors import InternalError


class Placement(NamedTuple):
    """`shards` are (dimension, axis) pairs, outer axes first; `partial` the axes of partial sums.

    An axis that stands in neither replicates the tensor.
    """

    shards: tuple[tuple[str, str], ...] = ()
    partial: tuple[str, ...] = ()

    def dimension_of(self, axis: str) -> str | None:
        """Return the dimension that `axis` shards, None where it shards none."""
        for dimension, by in self.shards:
            if by == axis:
                return dimension
        return None

    def axes(self) -> set[str]:
        """Return the axes along which ranks hold different values."""
        return {axis for _, axis in self.shards} | set(self.partial)

    def without(self, axis: str) -> Placement:
        """Return the placement with `axis` replicating."""
        shards = tuple(pair for pair in self.shards if pair[1] != axis)
        return Placement(shards, tuple(other for other in self.partial if other != axis))

    def sharding(self, dimension: str, axis: str) -> Placement:
        """Return the placement with `axis` sharding `dimension`, inside what shards it already."""
        rest = self.without(axis)
        return Placement((*rest.shards, (dimension, axis)), rest.partial)

    def adding(self, axes: set[str]) -> Placement:
        """Return the placement with the ranks of `axes` holding partial sums."""
        return Placement(self.shards, tuple(sorted({*self.partial, *axes})))

    def dual(self) -> Placement:
        """Return where the gradient lies: partial sums have whole gradients."""
        return Placement(self.shards)


REPLICATED = Placement()


class Tensor(NamedTuple):
    """One activation; `number` tells tensors of a graph apart, `width` is bytes per element."""

    number: int
    name: str
    sizes: tuple[tuple[str, int], ...]
    placement: Placement
    width: int

    def size(self, dimension: str) -> int:
        """Return the global size of a dimension."""
        for name, size in self.sizes:
            if name == dimension:
                return size
        raise KeyError(dimension)

    def elements(self) -> int:
        """Return the global number of elements."""
        elements = 1
        for _, size in self.sizes:
            elements *= size
        return elements


def local_size(size: int, ways: int, what: str) -> int:
    """Return one rank's share of `size`; plans whose shares are uneven are refused before."""
    if size % ways:
        raise InternalError(f"{what}: {size} is not divisible by {ways}")
    return size // ways
