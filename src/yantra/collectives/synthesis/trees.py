"""Packed trees: an all-gather along trees that fill the links to the cut bound.

With m pieces, trees of at most h links in sequence and latency l on each, it takes

    (m + h - 1) slots of bound / m, and at most h l,

the bound for many pieces and no latency. Trade-off: trees may be high, so fast for large
collectives of many pieces, not for small ones.

Source: ForestColl (arXiv 2402.06787), for packed trees; Edmonds, "Edge-disjoint branchings" (1973).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from yantra import _core
from yantra.collectives.schedule import Kind
from yantra.collectives.synthesis.least_cuts import columns
from yantra.collectives.synthesis.rank_graph import RankGraph, RankLink
from yantra.collectives.synthesis.transfers import Plan, Transfers


class Tree(NamedTuple):
    root: int
    copies: int
    links: tuple[RankLink, ...]
    above: tuple[int, ...]

    @property
    def height(self) -> int:
        return 1 + max(self.above, default=-1)


class Forest(NamedTuple):
    """`copies` trees from each rank, which fit on the links at once."""

    graph: RankGraph
    trees: tuple[Tree, ...]

    @property
    def height(self) -> int:
        return max(tree.height for tree in self.trees)

    @property
    def blocks(self) -> int:
        return self.graph.trees // self._common

    @property
    def messages(self) -> int:
        return sum(len(tree.links) for tree in self.trees)

    @property
    def _common(self) -> int:
        return reduce(math.gcd, (tree.copies for tree in self.trees), self.graph.trees)

    def time_ns(self, shard_bytes: float, pieces: int) -> float:
        """How long the all-gather takes with `pieces` pieces."""
        slot = self._slot_ns(shard_bytes, pieces)
        ways = (slot * tree.height + self._latency_ns(tree) for tree in self.trees)
        return slot * (pieces - 1) + max(ways)

    def pieces(self, shard_bytes: float, most_messages: int, within: float = 0.01) -> int:
        most = max(1, most_messages // max(1, self.messages))
        endless = self.time_ns(shard_bytes, 1 << 40)
        wanted = 1
        while wanted < most and self.time_ns(shard_bytes, wanted) > endless * (1 + within):
            wanted = min(most, 2 * wanted)
        return wanted

    def gather(self, shard_bytes: float, pieces: int) -> Plan:
        slot = self._slot_ns(shard_bytes, pieces)
        each = list(self._transfers(slot, pieces))
        all_ = Transfers._make(np.concatenate(columns) for columns in zip(*each, strict=True))
        ordered = all_.ordered(all_.start_ns, all_.end_ns, all_.src, all_.dst)
        blocks = self.graph.ranks * self.blocks * pieces
        return Plan(Kind.ALL_GATHER, self.graph.ranks, blocks, ordered, "trees")

    def _slot_ns(self, shard_bytes: float, pieces: int) -> float:
        return shard_bytes / (self.graph.trees * pieces * float(self.graph.unit))

    def _latency_ns(self, tree: Tree) -> float:
        return max(_latencies(tree).values())

    def _transfers(self, slot: float, pieces: int) -> Iterator[Transfers]:
        first = [0] * self.graph.ranks  # block of each rank's next tree, before it is cut
        each = self._common
        for tree in self.trees:
            begun = tree.root * self.blocks * pieces + first[tree.root] * pieces
            wide = tree.copies // each
            first[tree.root] += wide
            links = np.repeat(np.arange(len(tree.links)), pieces)
            piece = np.tile(np.arange(pieces), len(tree.links))
            latency = _latencies(tree)
            before = np.array([latency[link.start] for link in tree.links])
            on_link = np.array([link.latency_ns for link in tree.links])
            start = slot * (piece + np.array(tree.above)[links]) + before[links]
            yield Transfers(
                start,
                start + slot + on_link[links],
                np.array([link.start for link in tree.links], np.uint32)[links],
                np.array([link.end for link in tree.links], np.uint32)[links],
                (begun + piece * wide).astype(np.uint32),
                np.full(len(links), wide, np.uint32),
                np.zeros(len(links), np.bool_),
            )


def forest(graph: RankGraph) -> Forest:
    """Trees that fill the links of a graph as far as the cut bound allows."""
    links = [(link.start, link.end, link.trees) for link in graph.links]
    found = _core.pack_trees(
        ranks=graph.ranks, trees=graph.trees, **columns(links, graph.ranks)._asdict()
    )
    numbers = list(found.link)
    rows = zip(found.root, found.copies, pairwise(found.first_link), strict=True)
    return Forest(graph, tuple(_tree(graph, r, c, numbers[slice(*of)]) for r, c, of in rows))


def _tree(graph: RankGraph, root: int, copies: int, numbers: list[int]) -> Tree:
    depth = {root: 0}
    links = tuple(graph.links[number] for number in numbers)
    for link in links:
        depth[link.end] = depth[link.start] + 1
    return Tree(root, copies, links, tuple(depth[link.start] for link in links))


def _latencies(tree: Tree) -> dict[int, float]:
    latency = {tree.root: 0.0}
    for link in tree.links:
        latency[link.end] = latency[link.start] + link.latency_ns
    return latency
