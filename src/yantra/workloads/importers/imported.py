"""A workload from layer tables: a grid of ranks, and a trace per kind of rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from yantra.chakra import Trace
from yantra.workloads.templates import RankClass, Workload
from yantra.workloads.templates.grid import Grid, Group

VIEW = "ranks"
_GRID = "train"


def make_grid(*axes: tuple[str, int]) -> Grid:
    return Grid(_GRID, 0, {VIEW: axes})


def make_workload(
    grid: Grid,
    groups: Mapping[str, Group],
    traces: Sequence[Trace],
    axis: str | None,
    about: Mapping[str, Any],
    notes: Iterable[str],
) -> Workload:
    """The workload whose `traces` are those of coordinates 0, 1, ... along `axis`.

    Without an axis one trace is for all ranks. Collectives name a group of `groups`, messages a
    relative peer.
    """
    names = ["rank"] if axis is None else [f"{axis}{at}" for at in range(len(traces))]
    return Workload(
        grids=[grid],
        groups=groups,
        classes=[
            RankClass(_GRID, {} if axis is None else {axis: at}, name)
            for at, name in enumerate(names)
        ],
        templates=dict(zip(names, traces, strict=True)),
        sections={"about": dict(about), "notes": list(notes)},
    )
