"""Timelines of classes of equal ranks -> a workload; equal classes share one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from yantra.workloads.serving.check import check_events
from yantra.workloads.serving.engine import Engine
from yantra.workloads.serving.memory import StageMemory
from yantra.workloads.serving.rounds import draw, rounds_of
from yantra.workloads.serving.timeline import Event, Timeline
from yantra.workloads.serving.transfer import Place
from yantra.workloads.templates import RankClass, Workload
from yantra.workloads.templates.grid import Grid, Group

_VIEWS = {"tp": "dense", "ep": "expert", "etp": "expert"}


class Half(NamedTuple):
    """One grid with its engine, and its stages' memory."""

    grid: Grid
    engine: Engine
    memory: tuple[StageMemory, ...]


def workload_of(
    halves: Mapping[str, Half],
    timelines: Mapping[str, Mapping[Place, Timeline]],
    axes: Mapping[str, bool],
    about: Mapping[str, Any],
    steady: tuple[int, Mapping[Place, Timeline]] | None = None,
) -> Workload:
    """The workload of one or two grids, checked to run to its end.

    `timelines` are by grid and class; classes differ along `axes` and pp.
    """
    groups: dict[str, Group] = {}
    classes: list[RankClass] = []
    templates: dict[str, bytes] = {}
    events: dict[int, list[Event]] = {}
    memory: dict[str, Any] = {}
    others: dict[str, bytes] = {}
    for name, half in halves.items():
        prefix = f"{name}." if name else ""
        by_content: dict[tuple[bytes, bytes], str] = {}
        for place, timeline in timelines[name].items():
            content = timeline.builder.to_bytes()
            other = steady[1][place].builder.to_bytes() if steady else b""
            label = by_content.setdefault((content, other), _label(prefix, place, axes))
            templates[label], others[label] = content, other
            chosen = {"pp": place.pp} | {
                axis: getattr(place, axis) for axis, depends in axes.items() if depends
            }
            classes.append(RankClass(half.grid.name, chosen, label))
            events[half.grid.rank(chosen)] = timeline.events
            memory[label] = half.memory[place.pp].as_dict()
            groups |= _groups(timeline, prefix, half.grid.name)
    grids = [half.grid for half in halves.values()]
    check_events(grids, groups, events)
    if steady:
        check_events(grids, groups, _events(halves, steady[1]))
    drawing = "".join(draw(rounds_of(half.engine), name) for name, half in halves.items())
    sections = {"about": dict(about), "memory": memory, "schedule": drawing}
    return Workload(
        grids=grids, groups=groups, classes=classes, templates=templates, sections=sections,
        steady=(steady[0], others) if steady else None,
    )  # fmt: skip


def _events(
    halves: Mapping[str, Half], timelines: Mapping[Place, Timeline]
) -> dict[int, list[Event]]:
    (half,) = halves.values()
    return {half.grid.rank({"pp": place.pp}): one.events for place, one in timelines.items()}


def _label(prefix: str, place: Place, axes: Mapping[str, bool]) -> str:
    parts = [f"{axis}{getattr(place, axis)}" for axis, depends in axes.items() if depends]
    return "-".join((f"{prefix}stage{place.pp}", *parts))


def _groups(timeline: Timeline, prefix: str, grid: str) -> Iterator[tuple[str, Group]]:
    names = dict.fromkeys(event.group for event in timeline.events if event.group)
    for name in names:
        axis = name.removeprefix(prefix)
        yield name, Group(_VIEWS[axis], [axis], grid=grid)
