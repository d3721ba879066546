"""Collective algorithms: who sends which block to whom, in which order."""

from __future__ import annotations

from typing import Any

from yantra.base.contract import Contract
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind, Use

SKELETON = '''"""my_plugin: a ring on which every position passes blocks to the one before it.

Trade-off: the least bytes for an all-reduce, in a number of steps that grows with n.
Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
J. Parallel Distrib. Comput. 69 (2009); here the other way round.
"""

from yantra.plugin.collective import CollectiveAlgorithm, Kind, Move, Round, Schedule


class MyPlugin(CollectiveAlgorithm):
    # The collectives it performs. A scenario of several dimensions needs the halves of an
    # all-reduce, too.
    kinds = frozenset({Kind.REDUCE_SCATTER, Kind.ALL_GATHER, Kind.ALL_REDUCE})

    def schedule(self, kind, n):
        self.require(kind, n)
        # The data is cut into n blocks; block b belongs to position b. To sum up, a block travels
        # all the way to its owner, and everyone adds to it; to spread, it starts there.
        sum_up = [pass_back(n, block=1 + step, reduce=True) for step in range(n - 1)]
        spread = [pass_back(n, block=step, reduce=False) for step in range(n - 1)]
        rounds = {
            Kind.REDUCE_SCATTER: sum_up,
            Kind.ALL_GATHER: spread,
            Kind.ALL_REDUCE: sum_up + spread,
        }
        return Schedule(kind, n, blocks=n, rounds=tuple(rounds[kind]))


def pass_back(n, *, block, reduce):
    # What position 0 does. symmetry="add" lets position p do the same with all positions and
    # blocks shifted by p; leave it out, and write every move, where positions differ.
    move = Move(src=0, dst=n - 1, blocks=(block % n,), reduce=reduce)
    return Round((move,), symmetry="add")


PLUGIN = MyPlugin
'''


class Collectives(Kind):
    """A class derived from `yantra.plugin.collective.CollectiveAlgorithm`."""

    skeleton = SKELETON

    def registry(self) -> Registry[Any]:
        from yantra.collectives.algorithms import algorithms

        return algorithms

    def contract(self) -> Contract:
        from yantra.collectives.contract import CONTRACT

        return CONTRACT

    def use(self, file: str) -> Use:
        return Use(
            f"yantra run --workload step.yw --cluster hgx-h100 --all-reduce {file}",
            "yantra workload train --model llama3-8b --tp 4 --dp 2 -o step.yw",
        )


PLUGIN = Collectives
