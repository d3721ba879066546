"""NVLS: the switches of a node add what a rank loads, and copy what it stores to all.

Over p switches with links of latency l and bandwidth B, and hand-overs of d ns:

    all-reduce                     3 d + 4 l + 2 (1 + 1 / n) S / (p B)
    reduce-scatter, all-gather     2 d + 2 l + (1 + 1 / n) S / (p B)

Many chunks overlap the ways of an all-reduce: (1 + 1 / n) S / (p B).

Trade-off: a switch adds in no time and has room for all. Source: NCCL 2.30.7,
src/device/all_reduce.h; Klenk et al., "An in-network architecture for accelerating shared-memory
multiprocessor collectives", ISCA 2020.
"""

from __future__ import annotations

from yantra.collectives.node_stages import OverNodes, Shares, spread, summed_up
from yantra.collectives.schedule import Kind, Schedule
from yantra.collectives.switch_tree import scheduled


class Nvls(OverNodes):
    """Loads that switches add, stores that they copy."""

    kinds = frozenset({Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER})
    by_nodes = False
    inside = "nvls"
    between = "sharp"

    def supports(self, kind: Kind, n: int, *, faithful: bool = False) -> str | None:
        reason = super().supports(kind, n, faithful=faithful)
        if reason is None and kind is not Kind.ALL_REDUCE and len(self.nodes(n)) > 1:
            return f"over several nodes it performs all_reduce, not {kind}"
        return reason

    def schedule(self, kind: Kind, n: int) -> Schedule:
        if kind is Kind.ALL_REDUCE:
            return super().schedule(kind, n)
        self.require(kind, n)
        (node,) = self.nodes(n)
        shares = Shares(n, len(node.switches))
        stage = summed_up if kind is Kind.REDUCE_SCATTER else spread
        return scheduled(kind, n, n * shares.each, stage("nvls", node, shares))


PLUGIN = Nvls
