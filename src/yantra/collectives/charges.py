"""What a collective of measured time puts on links: the bytes of the algorithm that was measured.

| algorithm | a member sends | | --- | --- | | Ring | in a node all of it to the next; over nodes
see below | | Sends, DeepEP | to each other member its part | | OneShot, TwoShot | to each other
member all of it, or twice its part | | NVLS | what its link carries: all, and its own share again |
| Tree | shares along the chain of a node and back, and between nodes over two binary trees | |
NVLSTree | NVLS in the node, trees between nodes |

Over nodes each place begins a ring (`rail_rings`).

Trade-off: one message a step, not NCCL's slices.

Sources: `yantra.collectives.node_stages`, `algorithms/rail_rings.py`.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from yantra.collectives.algorithms.double_binary_tree import DoubleBinaryTree
from yantra.collectives.schedule import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROUNDING = 1.005
_DIRECT = ("Sends", "DeepEP")
_SHOTS = ("OneShot", "TwoShot")
_FACTORS = {"all_reduce": 2, "reduce_scatter": 1, "all_gather": 1}


class Charge(NamedTuple):
    """What each member sends `node` nodes and `place` places further on.

    `share` is of the stated bytes (all-gather: one rank's). With `from_node` only its members send,
    to node `node`.
    """

    node: int
    place: int
    share: float
    messages: int
    from_node: int | None = None


def knows(algorithm: str, kind: str) -> bool:
    """Whether `charges` covers an algorithm and kind."""
    if algorithm in _DIRECT:
        return kind == "all_to_all"
    if algorithm == "Ring":
        return kind in _FACTORS
    return algorithm in ("NVLS", "Tree", "NVLSTree", *_SHOTS) and kind == "all_reduce"


@lru_cache(maxsize=256)
def charges(
    algorithm: str, kind: str, ranks: int, local: int, once: float = 1.0, near: float = 1.0
) -> tuple[Charge, ...]:
    """What members send; of an all-to-all `once` of what leaves a node, `near` of what stays.

    Precondition: `knows(algorithm, kind)`, and `local` divides `ranks`.
    """
    nodes = ranks // local
    if algorithm in _DIRECT:
        return tuple(
            Charge(node, place, (once if node else near) / ranks, 1)
            for node in range(nodes)
            for place in range(local)
            if node or place
        )
    if algorithm in _SHOTS:
        share, passes = (1.0, 1) if algorithm == "OneShot" else (2.0 / ranks, 2)
        return tuple(Charge(0, place, share, passes) for place in range(1, local))
    if algorithm == "Ring":
        return _rings(kind, ranks, local)
    if algorithm == "Tree" and nodes == 1:
        return _chain(local)
    if algorithm == "NVLS" and nodes == 1:
        return (_switches(local),)
    inside = _chain(local) if algorithm == "Tree" else (_switches(local),)
    return (*(inside if local > 1 else ()), *_trees(nodes, local))


def _rings(kind: str, ranks: int, local: int) -> tuple[Charge, ...]:
    steps = _FACTORS[kind] * (ranks - 1)
    share = steps * (1.0 if kind == "all_gather" else 1.0 / ranks)
    if local == ranks:
        return (Charge(0, 1, share, steps),)
    across = Charge(1, 0, share / local, steps)
    return (Charge(0, 1, share, steps * local), across) if local > 1 else (across,)


def _switches(local: int) -> Charge:
    return Charge(0, 1, 1.0 + 1.0 / local, 2)


def _chain(local: int) -> tuple[Charge, ...]:
    hops = local - 1
    share = hops / local
    return tuple(Charge(0, way, share, hops) for way in (1, local - 1))


def _trees(nodes: int, local: int) -> list[Charge]:
    sent: dict[tuple[int, int], int] = {}
    for round_ in DoubleBinaryTree().schedule(Kind.ALL_REDUCE, nodes).rounds:
        for move in round_.moves:
            pair = move.src, move.dst
            sent[pair] = sent.get(pair, 0) + len(move.blocks)
    half = 0.5 / local
    return [
        Charge(dst, 0, halves * half, halves, from_node=src) for (src, dst), halves in sent.items()
    ]


class Above(NamedTuple):
    """How many times more a measured time asks of links than they carry."""

    size_bytes: int
    times: float
    over_nodes: bool


def above(
    points: Sequence[tuple[int, float]], runs: Sequence[tuple[int, str]], kind: str, ranks: int,
    local: int, rates: tuple[float, float], once: float = 1.0, near: float = 1.0,
) -> Above | None:  # fmt: skip
    """The point that overloads links most, if any.

    `rates` are bytes/ns of a member's links in a node and to others.
    """
    worst: Above | None = None
    starts = [start for start, _ in runs]
    for size, ns in points:
        name = runs[max(bisect_right(starts, size) - 1, 0)][1].partition(" ")[0]
        shares = _of_member(name, kind, ranks, local, once, near)
        for over_nodes, (share, rate) in enumerate(zip(shares, rates, strict=True)):
            times = share * size / (rate * ns) if ns else 0.0
            if times > max(_ROUNDING, worst.times if worst else 0.0):
                worst = Above(size, times, bool(over_nodes))
    return worst


@lru_cache(maxsize=256)
def _of_member(
    algorithm: str, kind: str, ranks: int, local: int, once: float, near: float
) -> tuple[float, float]:
    inside = across = 0.0
    by_node: dict[int, float] = {}
    for one in charges(algorithm, kind, ranks, local, once, near):
        if one.from_node is not None:
            by_node[one.from_node] = by_node.get(one.from_node, 0.0) + one.share
        elif one.node:
            across += one.share
        else:
            inside += one.share
    return inside, across + max(by_node.values(), default=0.0)
