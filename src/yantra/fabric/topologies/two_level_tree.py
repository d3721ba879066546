"""Two-level tree: leaf switches with ranks, and spine switches that every leaf is linked to.

The folded Clos network of a data centre: two hops within a leaf and four between leaves. There are
as many spines as ranks on a leaf, so that no bandwidth is lost upwards; but a message's spine is
fixed by its destination, so two messages may share a link while others lie idle.
`two_level_tree4` has 4 ranks on a leaf.

Source: Leiserson, "Fat-trees: universal networks for hardware-efficient supercomputing", IEEE
Transactions on Computers C-34 (1985); spine = destination mod spines: Zahavi, "Fat-tree routing and
node ordering providing contention free traffic for MPI global collectives", J. Parallel Distrib.
Comput. 72 (2012).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from yantra.fabric.topologies.geometry import both_ways, near_square
from yantra.fabric.topologies.topology import Block, Link


class TwoLevelTree(Block):
    """Leaf l has ranks from l * `number` on; leaves precede spines.

    By default a leaf has n's divisor next below its root.
    """

    symmetric = True
    number_means = "ranks per leaf"

    def supports(self, n: int) -> str | None:
        if self.number is None and (n < 4 or near_square(n) == 1):
            return f"needs equal leaves of at least 2 ranks, got {n}"
        per_leaf = self._per_leaf(n)
        if n < 2 * per_leaf or n % per_leaf:
            return f"needs two or more leaves of {per_leaf} ranks each, got {n}"
        return None

    def switches(self, n: int) -> int:
        return n // self._per_leaf(n) + self._per_leaf(n)

    def links(self, n: int) -> Iterable[Link]:
        return both_ways(self._pairs(n))

    def next_device(self, n: int, at: int, to: int) -> int:
        per_leaf = self._per_leaf(n)
        first_spine = n + n // per_leaf
        leaf_of_to = n + to // per_leaf
        if at < n:
            return n + at // per_leaf
        if at == leaf_of_to:
            return to
        return leaf_of_to if at >= first_spine else first_spine + to % per_leaf

    def _per_leaf(self, n: int) -> int:
        return self.number or near_square(n)

    def _pairs(self, n: int) -> Iterator[Link]:
        per_leaf = self._per_leaf(n)
        leaves = range(n, n + n // per_leaf)
        for rank in range(n):
            yield rank, n + rank // per_leaf
        for leaf in leaves:
            for spine in range(leaves.stop, leaves.stop + per_leaf):
                yield leaf, spine


PLUGIN = TwoLevelTree
