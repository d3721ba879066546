"""Collectives made for a graph: each method's best, its time and part of the cut bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import gcd
from typing import NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.collectives.schedule import Kind
from yantra.collectives.synthesis import tacos, trees
from yantra.collectives.synthesis.bound import Fabric
from yantra.collectives.synthesis.rank_graph import RankGraph, rank_graph
from yantra.collectives.synthesis.transfers import Plan
from yantra.fabric.graphs.cut_bounds import bounded_fabric, least_ns_per_byte
from yantra.fabric.graphs.graph import Graph

KINDS = (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER)
METHODS = ("best", "tacos", "trees")
FEW_RANKS = 64
"""So many have trees packed in a part of a second, whatever TACOS found."""
MOST_RANKS_OF_TREES = 128
"""Packing takes seconds for so many, and minutes for four times as many; `best` leaves it out."""
_NEAR_THE_BOUND = 0.97  # of the bound: TACOS's rest is not worth seconds
MOST_MESSAGES = 400_000
"""Of trees, where nobody says how many pieces."""
_MOST_OF_ALL = 1 << 23
"""Messages of an all-gather, which take a few hundred bytes each until they are proven."""
_CHUNKS = (1, 2, 4)  # of a rank, tried by TACOS by default
_MOST_CHUNKS = 1024  # of all ranks together

Progress = Callable[[int, int], None]


class Found(NamedTuple):
    """A plan, its chunks of a rank, and its part of the bound."""

    plan: Plan
    chunks: int
    of_bound: float


class Asked(NamedTuple):
    """`size_bytes` is a rank's input, or an all-gather's output.

    `chunks`: a rank's for TACOS, a tree's pieces; None leaves them open.
    """

    kind: Kind
    size_bytes: int
    method: str = "best"
    chunks: int | None = None
    tries: int = 20
    seed: int = 1


class Synthesis(NamedTuple):
    """What was tried, fastest first, and the cut bound in ns."""

    found: tuple[Found, ...]
    bound_ns: float


def synthesize(
    graph: Graph, where: str, asked: Asked, progress: Progress | None = None
) -> Synthesis:
    """Return collectives for a graph.

    Raises ConfigError for fewer than two or unconnected ranks, UnsupportedError for other kinds and
    what takes minutes.
    """
    if asked.kind not in KINDS:
        kinds = ", ".join(KINDS)
        raise UnsupportedError(f"no {asked.kind} is synthesised; expected one of {kinds}")
    fabric = bounded_fabric(graph, where)
    _check_messages(fabric.ranks * (fabric.ranks - 1) * (asked.chunks or 1), fabric.ranks)
    latencies = tuple(graph.links.latency_ns.tolist())
    least = float(least_ns_per_byte(asked.kind, fabric) * asked.size_bytes)
    made = _plans(fabric, latencies, asked, least, progress)
    plans = sorted(made, key=lambda plan: plan.time_ns)
    rows = (Found(plan, plan.blocks // plan.ranks, least / plan.time_ns) for plan in plans)
    return Synthesis(tuple(rows), least)


def _plans(
    fabric: Fabric,
    latencies: tuple[float, ...],
    asked: Asked,
    least_ns: float,
    progress: Progress | None,
) -> Iterator[Plan]:
    gathers = asked.kind is not Kind.REDUCE_SCATTER
    scatters = asked.kind is not Kind.ALL_GATHER
    there = rank_graph(fabric, latencies) if gathers else None
    if gathers and _is_alike_both_ways(fabric, latencies):
        back = there if scatters else None
    else:
        back = rank_graph(fabric.reversed(), latencies) if scatters else None
    shard = asked.size_bytes / fabric.ranks
    is_near = False
    if asked.method != "trees":
        counts = (asked.chunks,) if asked.chunks else _chunks(fabric.ranks)
        for at, chunks in enumerate(counts):

            def told(done: int, of: int, at: int = at) -> None:
                if progress is not None:
                    progress(at * of + done, len(counts) * of)

            def spread(graph: RankGraph, chunks: int = chunks) -> Plan:
                return tacos.gather(graph, shard, chunks, asked.tries, asked.seed, told)

            gather = there and spread(there)
            plan = _joined(gather, gather if back is there else back and spread(back))
            is_near = is_near or plan.time_ns * _NEAR_THE_BOUND <= least_ns
            yield plan
    most = FEW_RANKS if is_near else MOST_RANKS_OF_TREES
    if asked.method == "trees" or (asked.method == "best" and fabric.ranks <= most):
        yield _of_trees(there, back, shard, asked.chunks)


def _check_messages(messages: int, ranks: int) -> None:
    if messages > _MOST_OF_ALL:
        raise UnsupportedError(
            f"an all-gather of {ranks} ranks would have {messages} messages, and at most "
            f"{_MOST_OF_ALL} are made; ask for fewer chunks, or for fewer ranks"
        )


def _is_alike_both_ways(fabric: Fabric, latencies: tuple[float, ...]) -> bool:
    links = [(*link, latency) for link, latency in zip(fabric.links, latencies, strict=True)]
    return sorted(links) == sorted((end, start, *rest) for start, end, *rest in links)


def _chunks(ranks: int) -> tuple[int, ...]:
    return tuple(chunks for chunks in _CHUNKS if chunks == 1 or chunks * ranks <= _MOST_CHUNKS)


def _of_trees(
    there: RankGraph | None, back: RankGraph | None, shard: float, chunks: int | None
) -> Plan:
    graphs = (there,) if back is there else (there, back)
    forests = [trees.forest(graph) for graph in graphs if graph is not None]
    most = MOST_MESSAGES // ((there is not None) + (back is not None))
    pieces = max(chunks or each.pieces(shard, most) for each in forests)
    _check_messages(pieces * max(each.messages for each in forests), forests[0].graph.ranks)
    common = gcd(*(each.blocks for each in forests))
    whole = forests[0].blocks * forests[-1].blocks // common
    gathers = [each.gather(shard, pieces * whole // each.blocks) for each in forests]
    return _joined(gathers[0] if there else None, gathers[-1] if back else None)


def _joined(gather: Plan | None, of_reversed: Plan | None) -> Plan:
    if of_reversed is None:
        assert gather is not None
        return gather
    scatter = of_reversed.turned_round()
    return scatter if gather is None else scatter.then(gather)
