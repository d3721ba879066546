"""Peak memory against published allocations: what a step needs on its fullest stage.

What is compared is the most that the framework's allocator had given out (`alloc_gib`), not what it
had reserved. Ours leaves out what a running operation needs for itself and what an allocator loses,
so it should be a little below.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from os import path as paths
from typing import NamedTuple

from yantra.accuracy.metrics import Errors, errors
from yantra.accuracy.rows import Row, rows
from yantra.base.documents import read_text
from yantra.fabric import clusters
from yantra.workloads.plan.plan import Plan
from yantra.workloads.plan.precision import SCALINGS, for_machine
from yantra.workloads.training.train import train

RECORD = paths.join(paths.dirname(__file__), "rows", "memory.csv")
_HEAD = ("dataset", "name", "peak_gib")
_GIB = 2**30


class Peak(NamedTuple):
    """A row, and the GiB that we say its fullest device needs."""

    row: Row
    gib: float

    @property
    def ratio(self) -> float:
        """Return ours as a multiple of the published allocation."""
        assert self.row.alloc_gib is not None
        return self.gib / self.row.alloc_gib


def peaks(chosen: Iterable[Row]) -> list[Peak]:
    """Return our peaks of the rows that have a published allocation; equal plans are made once."""
    known: dict[tuple[str, ...], float] = {}
    found = []
    for row in chosen:
        if row.alloc_gib is None:
            continue
        key = row.model, row.plan, row.dtype, row.cluster
        if key not in known:
            workload = train(row.made_model(), plan_in_bits(row))
            known[key] = max(workload.peaks().values()) / _GIB
        found.append(Peak(row, known[key]))
    return found


def plan_in_bits(row: Row) -> Plan:
    """Return the plan of a row with products in their type, on its machine's GPUs."""
    plan = row.made_plan()
    if row.dtype in SCALINGS and plan.dtype not in SCALINGS:
        plan = plan.replace(dtype=row.dtype)
    return for_machine(plan, any_layout=clusters.load(row.cluster).any_layout)


def recorded_peaks() -> list[Peak]:
    """Return what the last recorded run said."""
    by_name = {(row.dataset, row.name): row for row in rows()}
    lines = [line for line in read_text(RECORD).splitlines() if not line.startswith("#")]
    found = ((by_name.get((one["dataset"], one["name"])), one) for one in csv.DictReader(lines))
    return [Peak(row, float(one["peak_gib"])) for row, one in found if row is not None]


def record_peaks(found: Iterable[Peak]) -> None:
    """Write what a run said."""
    with open(RECORD, "w", encoding="utf-8", newline="") as file:
        file.write("# Our peak memory of each row, by python -m yantra.accuracy.suite --write\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_HEAD)
        for one in found:
            writer.writerow((one.row.dataset, one.row.name, f"{one.gib:.6g}"))


def memory_errors(found: Sequence[Peak]) -> Mapping[str, Errors]:
    """Return the errors of peak memory by data set and kind."""
    groups: dict[str, list[float]] = defaultdict(list)
    for one in found:
        kind = ", MoE" if one.row.kind == "moe" else ""
        groups[f"{one.row.dataset}{kind}"].append(one.ratio)
    return {name: errors(ratios) for name, ratios in groups.items()}
