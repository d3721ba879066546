"""Which algorithm and protocol ran each collective, and what the best possible would gain.

At best every collective takes its cut bound (yantra.collectives.synthesis.bound; Zhao et al.,
"ForestColl", arXiv 2402.06787): the bytes that must cross a cut over the cut's rate, without
latency or sharing with others, so no algorithm gains more. Where switches added, they may at the
bound. A collective measured to be faster keeps its time. Groups over several dimensions that are no
product of whole ones, or larger than `MOST_RANKS`, have no bound and run as they did.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from yantra.base.errors import YantraError
from yantra.base.units import exact, format_size
from yantra.collectives import find
from yantra.collectives.algorithms import algorithms
from yantra.collectives.schedule import Kind
from yantra.collectives.selection import checked_choices, is_timed, selection_of
from yantra.collectives.selection.selection import Choice, Group, Selection, Timed
from yantra.compile import Model, compile
from yantra.compile.plans import Chosen
from yantra.fabric.graphs.cut_bounds import bounded_fabric, least_ns_per_byte
from yantra.fabric.graphs.describe import shown
from yantra.fabric.graphs.graph import Graph
from yantra.fabric.topologies import topologies
from yantra.result import Result
from yantra.run.simulate import run
from yantra.scenario import Scenario
from yantra.scenario.types import Custom

MOST_RANKS = 256
"""The largest bounded group; it takes seconds."""

_BOUNDED = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
_LARGEST = 1 << 43
_OF_SWITCHES = ("NVLS", "CollNet")  # in NCCL's algorithm names
_IN_ONE = ("switch", "fully_connected")  # some of their members are one of fewer ranks


def told(result: Result) -> dict[str, Any]:
    """What ran each kind of collective, and the run with all at their bounds."""
    model = result.model
    ran = [_ran(one) for one in model.chosen if one.ranks > 1]
    best = at_best(result) if ran else None
    return {"ran": [one for at, one in enumerate(ran) if one not in ran[:at]], "at_best": best}


def at_best(result: Result) -> dict[str, Any] | None:
    scenario = result.model.scenario
    if scenario.semantics != "yantra":
        return None
    bounds = Bounds(scenario, result.model)
    if not bounds.some(result.model.chosen):
        return None
    chosen = scenario.collectives.replace(selection=bounds.selection())
    try:
        found = run(compile(scenario.replace(collectives=chosen))).makespan_ns
    except YantraError:
        return None
    made = result.makespan_ns
    return {"makespan_ns": found, "gain": (made - found) / made if made else 0.0}


def _ran(one: Chosen) -> dict[str, Any]:
    return {"kind": one.kind, "ranks": one.ranks, "by": _texts(one.by_size, one.chunks)}


def _texts(by_size: Sequence[tuple[int, Any]], chunks: Sequence[int]) -> list[str]:
    pieces: list[tuple[int, str]] = []
    ends = [*(size for size, _ in by_size), None][1:]
    for (size, chosen), end, cut in zip(by_size, ends, chunks, strict=True):
        of_it = f" in {cut} chunks" if cut > 1 else ""
        pieces += [(at, f"{text}{of_it}") for at, text in _named(size, chosen, end)]
    several = [next(same) for _, same in groupby(pieces, key=lambda piece: piece[1])]
    if len(several) == 1:
        return [several[0][1]]
    return [f"{text} from {format_size(size)}" if size else text for size, text in several]


def text_at(one: Chosen, size_bytes: int) -> str:
    at = _at(one, size_bytes)
    ran = one.by_size[at][1]
    if is_timed(ran) and ran.runs:
        return [name for start, name in ran.runs if start <= size_bytes or not start][-1]
    return _texts(((0, ran),), one.chunks[at : at + 1])[0]


def timed_at(one: Chosen, size_bytes: int) -> Timed | None:
    """The measured time of a collective of a size that a trace states; None if messages run."""
    ran = one.by_size[_at(one, size_bytes)][1]
    return ran if is_timed(ran) else None


def _at(one: Chosen, size_bytes: int) -> int:
    return max(number for number, (size, _) in enumerate(one.by_size) if size <= size_bytes)


def _named(size: int, chosen: Any, end: int | None) -> list[tuple[int, str]]:
    if isinstance(chosen, Custom):
        return [(size, f"traces {chosen.prefix}")]
    if isinstance(chosen, str):
        return [(size, chosen)]
    if not is_timed(chosen):
        names = [algorithms.shown(name) for name in chosen]
        return [(size, " x ".join(names if len(set(names)) > 1 else names[:1]))]
    if not chosen.runs:
        return [(size, chosen.basis)]
    first = [(size, name) for start, name in chosen.runs if start <= size][-1:]
    later = [run for run in chosen.runs if size < run[0] and (end is None or run[0] < end)]
    return [*first, *later]


def _adds_in_switches(chosen: Any) -> bool:
    if isinstance(chosen, Custom | str) or chosen == ("counts",):
        return False
    if is_timed(chosen):
        return any(name.startswith(_OF_SWITCHES) for _, name in chosen.runs)
    return any(find(name).in_network for name in chosen)


class Bounds:
    """The bounds of a scenario's groups, and the selection that takes them."""

    def __init__(self, scenario: Scenario, model: Model) -> None:
        self._scenario = scenario
        self._graph = model.graph
        self._switches_add = {
            one.kind for one in model.chosen for _, ran in one.by_size if _adds_in_switches(ran)
        }
        self._found: dict[
            tuple[str, int, tuple[int, ...] | None, int | None, int], float | None
        ] = {}

    def some(self, chosen: Sequence[Chosen]) -> bool:
        return any(
            self.ns_per_byte(one.kind, one.ranks, one.whole, one.lowest, one.local) is not None
            for one in chosen
        )

    def ns_per_byte(
        self,
        kind: str,
        ranks: int,
        whole: Sequence[int] | frozenset[int] | None,
        lowest: int | None,
        local: int,
    ) -> float | None:
        """The bound per byte that a trace states; None if unknown."""
        dimensions = None if whole is None else tuple(sorted(whole))
        key = (kind, ranks, dimensions, lowest, local)
        if key not in self._found:
            self._found[key] = self._bound(*key)
        return self._found[key]

    def _bound(
        self, kind: str, ranks: int, whole: tuple[int, ...] | None, lowest: int | None, local: int
    ) -> float | None:
        unequal = kind == "all_to_all" and self._scenario.collectives.counts is not None
        if kind not in _BOUNDED or unequal or not 1 < ranks <= MOST_RANKS:
            return None
        graph = self._of_group(ranks, whole, lowest, local)
        if graph is None:
            return None
        try:
            fabric = bounded_fabric(graph, "cluster")
            adds = kind in self._switches_add
            least = least_ns_per_byte(Kind(kind), fabric, switches_add=adds)
        except YantraError:
            return None
        return float(least) * (ranks if kind == "all_gather" else 1)

    def _of_group(
        self, ranks: int, whole: tuple[int, ...] | None, lowest: int | None, local: int
    ) -> Graph | None:
        dimensions = self._scenario.topology.dimensions
        if ranks == self._scenario.topology.ranks:
            whole = tuple(range(len(dimensions)))
            if self._graph is not None:
                return self._graph if self._graph.ranks == ranks else None
        if self._graph is not None:
            return None
        sizes = {at: dimensions[at].size for at in whole or ()}
        if whole is None and lowest == 0 and local == ranks:
            if topologies.shown(dimensions[0].kind) not in _IN_ONE:
                return None
            sizes = {0: ranks}
        if not sizes:
            return None
        parts = [f"{topologies.shown(dimensions[at].kind)}({size})" for at, size in sizes.items()]
        options = {
            "dimensions": "_".join(parts),
            "bandwidth": [exact(dimensions[at].bytes_per_ns * 1e9, "B/s") for at in sizes],
            "latency": [exact(dimensions[at].latency_ns, "ns") for at in sizes],
        }
        try:
            return shown("product", options).graph
        except YantraError:
            return None

    def selection(self) -> type[Selection]:
        given = self._scenario.collectives.selection
        usual = None if given is None else selection_of(given)
        bounds = self

        class AtBound(Selection):
            def choices(self, kind: str, group: Group) -> Sequence[Choice]:
                found = {} if usual is None else checked_choices(usual, kind, group)
                least = bounds.ns_per_byte(
                    kind, group.ranks, group.whole, group.lowest, group.local
                )
                if least is None:
                    return [Choice(size, one) for size, one in found.items()]
                timed = found.get(0)
                if timed is None or not is_timed(timed):
                    points: tuple[tuple[int, float], ...] = (
                        (1, least),
                        (_LARGEST, least * _LARGEST),
                    )
                else:
                    points = tuple((at, min(ns, at * least)) for at, ns in timed.points if at)
                return [Choice(0, Timed(points, "the cuts of the network"))]

        return AtBound
