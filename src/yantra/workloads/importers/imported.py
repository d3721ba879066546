"""What an importer of layer tables makes: ranks as a grid, and a trace for each kind of rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from yantra.chakra import CollectiveType, NodeType, Trace
from yantra.workloads.grid import Grid, Group

VIEW = "ranks"


class Imported(NamedTuple):
    """`traces` are those of the coordinates 0, 1, ... along `axis`, one of all ranks if it is None.

    Collectives name a group of `groups`, sends and receives a relative peer; `about` says what was
    read, `notes` what the user should know.
    """

    grid: Grid
    groups: Mapping[str, Group]
    traces: tuple[Trace, ...]
    axis: str | None
    about: Mapping[str, Any]
    notes: tuple[str, ...]


def make_grid(*axes: tuple[str, int]) -> Grid:
    """Return the grid of these axes, the fastest first."""
    return Grid("train", 0, {VIEW: axes})


def totals(traces: tuple[Trace, ...]) -> dict[str, Any]:
    """Return what one rank of each trace does: computing time, collectives and messages.

    Times are in ns, sizes in bytes as Chakra counts them (of an all-gather, what one rank gives).
    """
    compute = [0] * len(traces)
    moved: dict[str, list[int]] = {}
    for at, trace in enumerate(traces):
        for node in trace:
            size = node.get("comm_size")
            if node.type is NodeType.COMP and not node["is_cpu_op"]:
                exact = node.get("duration_ns")
                known = exact if isinstance(exact, int) else node.duration_micros * 1000
                compute[at] += known
            elif isinstance(size, int):
                kind = node.get("comm_type")
                collective = CollectiveType(kind) if isinstance(kind, int) else node.type
                name = f"{collective.name.lower()} {node.get('pg_name') or node.get('comm_peer')}"
                moved.setdefault(name, [0] * len(traces))[at] += size
    return {"compute_ns": compute, "bytes": moved}
