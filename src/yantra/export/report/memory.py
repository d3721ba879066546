"""Memory over time, from traces: tracked tensors (`yantra.export.local_memory`), or saved
activations (`act_alloc`, `act_free`) above persistent weights, gradients and optimizer state.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

from yantra.base.text import count
from yantra.base.units import format_size
from yantra.export import local_memory
from yantra.export.report.classes import RankClass
from yantra.export.report.markup import Cell, Head, Html, element, join, table
from yantra.export.report.run import Run
from yantra.scenario import Templates, TrainingStep, WorkloadFile
from yantra.scenario.training import templates_of

_MOST_CLASSES = 16
_FIXED = ("weights", "gradients", "optimizer")
_WHY_NOT = (
    "The traces do not say what is in memory: they have neither tensors that are followed "
    "(track_local_memory: true, with inputs and outputs at the nodes) nor the attributes act_alloc "
    "and act_free, which generated training steps have."
)


class Memory(NamedTuple):
    """A class's memory: (tick, bytes) where it changes, above what is persistent."""

    at: int  # place of the class
    fixed: dict[str, int]
    ticks: list[int]
    bytes: list[int]

    @property
    def peak(self) -> int:
        return sum(self.fixed.values()) + max(self.bytes, default=0)


class Timelines(NamedTuple):
    """The memory of classes, its source, and how many classes are left out."""

    classes: list[Memory]
    source: str
    left_out: int


def find(run: Run) -> Timelines:
    chosen = list(enumerate(run.classes))[:_MOST_CLASSES]
    left_out = len(run.classes) - len(chosen)
    if run.result.model.scenario.track_local_memory:
        return Timelines([_of_tensors(run, *pair) for pair in chosen], "tensors", left_out)
    if not any("act_alloc" in graph.attributes for graph in run.graphs):
        return Timelines([], "", 0)
    fixed = _fixed(run)
    made = [_of_activations(run, at, one, fixed[one.graph]) for at, one in chosen]
    return Timelines(made, "activations", left_out)


def section(run: Run, found: Timelines) -> Html:
    if not found.classes:
        return element("p", _WHY_NOT, class_="note")
    told = {
        "tensors": "Live tensors: from the first write to the last read of each.",
        "activations": "Saved activations (act_alloc, act_free) above what is persistent. Inputs "
        "and outputs of single operations, and what an allocator wastes, are not counted.",
    }[found.source]
    if found.left_out:
        told += f" Not drawn: {count(found.left_out, 'more class', 'more classes')}."
    fixed = [name for name in _FIXED if any(one.fixed.get(name) for one in found.classes)]
    heads = [
        Head("ranks", False),
        Head("peak"),
        *[Head(name) for name in fixed],
        Head("changing, at most"),
    ]
    rows = [
        [
            run.classes[one.at].label,
            _size(one.peak),
            *[_size(one.fixed.get(name, 0)) for name in fixed],
            _size(max(one.bytes, default=0)),
        ]
        for one in found.classes
    ]
    return join(
        [
            element("p", told, class_="note"),
            element("div", id="memory", class_="chart"),
            table("Memory of a rank", heads, rows),
        ]
    )


def as_data(run: Run, found: Timelines) -> list[dict[str, Any]]:
    for place, one in enumerate(found.classes):
        run.columns.add(f"memory{place}.tick", one.ticks)
        run.columns.add(f"memory{place}.bytes", one.bytes)
    return [
        {"class": one.at, "label": run.classes[one.at].label, "fixed": sum(one.fixed.values())}
        for one in found.classes
    ]


def _of_tensors(run: Run, at: int, one: RankClass) -> Memory:
    timeline = local_memory.usage(run.result, one.rank).timeline
    return Memory(at, {}, [tick for tick, _ in timeline], [live for _, live in timeline])


def _of_activations(run: Run, at: int, one: RankClass, fixed: dict[str, int]) -> Memory:
    attributes = run.graphs[one.graph].attributes
    nothing = [None] * one.nodes
    begins = attributes.get("act_alloc", nothing)
    ends = attributes.get("act_free", nothing)
    changes: dict[int, int] = {0: 0}
    for node, start, end in run.ran(one):
        if begins[node]:
            changes[start] = changes.get(start, 0) + begins[node]
        if ends[node]:
            changes[end] = changes.get(end, 0) - ends[node]
    ticks = sorted(changes)
    return Memory(at, fixed, ticks, list(accumulate(changes[tick] for tick in ticks)))


def _fixed(run: Run) -> list[dict[str, int]]:
    workload, graphs = run.result.model.scenario.workload, run.result.model.graphs
    if not isinstance(workload, WorkloadFile | Templates | TrainingStep):
        return [{} for _ in run.graphs]
    made = templates_of(workload)
    names = {made.where(name): name for name in made.templates}
    stated = made.memory if isinstance(made.memory, dict) else {}
    found = []
    for source in graphs.sources:
        own = stated.get(names.get(source, ""), {})
        sizes = {name: own.get(name, 0) for name in _FIXED} if isinstance(own, dict) else {}
        found.append({name: size for name, size in sizes.items() if type(size) is int and size})
    return found


def _size(size: int) -> Cell:
    return Cell(format_size(size), size)
