"""A user's own measured collectives: logs of nccl-tests to numbers that a run uses.

Of each collective, in a node and over nodes, the ten numbers of the three protocols are fitted to
all sizes and numbers of ranks (`yantra.collectives.protocols`). With one number of ranks alone the
share of the latency that grows with them is not known; it is drawn to that of a usual machine.
"""

from __future__ import annotations

import json
from collections import defaultdict
from math import log2
from typing import NamedTuple

import numpy as np

from yantra.accuracy.nccl_log import Log, Run, read_log
from yantra.base.documents import Path
from yantra.base.errors import ConfigError
from yantra.collectives.protocols import FACTORS, Protocols, fitted, time_us
from yantra.collectives.selection.own import HEAD

LEAST = 6
"""Sizes from which a fit is made: one for each latency and bandwidth of the protocols."""


class Curve(NamedTuple):
    """The fit of one collective: its numbers, what it rests on, and its errors as fractions."""

    collective: str
    where: str
    local: int
    most_ranks: int
    points: int
    protocols: Protocols
    mean_error: float
    p90_error: float

    def line(self) -> str:
        """Return the line of a file."""
        numbers = ",".join(f"{one:.5g}" for one in self.protocols)
        what = f"{self.collective},{self.where},{self.local},{self.most_ranks},{self.points}"
        return f"{what},{numbers},{self.mean_error:.4f},{self.p90_error:.4f}"


def curve_of(runs: list[Run]) -> Curve:
    """Return the fit of runs of one collective, all in a node or all over nodes."""
    kind, where = runs[0].collective, runs[0].where
    hops, sizes, wire, us = [], [], [], []
    for run in runs:
        share = FACTORS[kind] * (run.ranks - 1) / run.ranks
        local = run.ranks // run.nodes
        if where == "nodes" and kind == "all_to_all":
            share = (run.ranks - local) / run.ranks
        for one in run.timings:
            hops.append(log2(run.ranks if where == "node" else run.nodes))
            sizes.append(float(one.size))
            wire.append(share * one.size)
            us.append(one.us)
    steps, moved, sent, taken = (np.array(column) for column in (hops, sizes, wire, us))
    made = fitted(steps, moved, sent, taken)
    off = np.abs(time_us(made, steps, moved, sent) / taken - 1)
    return Curve(
        collective=kind,
        where=where,
        local=min(run.ranks // run.nodes for run in runs),
        most_ranks=max(run.ranks for run in runs),
        points=len(us),
        protocols=made,
        mean_error=float(off.mean()),
        p90_error=float(np.quantile(off, 0.9)),
    )


def collectives_text(path: Path, cluster: str) -> tuple[str, list[Curve], Log]:
    """Return the file of a machine's collectives, its fits, and the log.

    Raises ConfigError with file and line.
    """
    if not cluster.strip() or not cluster.isprintable():
        raise ConfigError("--cluster", "expected what the machine is called, such as my-node")
    log = read_log(path)
    if not log.runs:
        raise ConfigError(log.notes[0].partition(": ")[0], log.notes[0].partition(": ")[2])
    groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in log.runs:
        groups[run.collective, run.where].append(run)
    for (kind, where), runs in groups.items():
        _check(kind, where, runs, str(path))
    curves = [curve_of(groups[key]) for key in sorted(groups)]
    sizes = {key: sorted({(run.ranks, run.nodes) for run in runs}) for key, runs in groups.items()}
    rests = "; ".join(
        f"{kind} on {' and '.join(f'{ranks} ranks of {nodes} nodes' for ranks, nodes in found)}"
        for (kind, _), found in sorted(sizes.items())
    )
    text = [
        f"title: {json.dumps(f'Collectives measured on {cluster}', ensure_ascii=False)}",
        f"cluster: {json.dumps(cluster, ensure_ascii=False)}",
        f"source: {json.dumps(f'nccl-tests: {rests}', ensure_ascii=False)}",
        "collectives: |",
        f"  {','.join(HEAD)}",
        *(f"  {curve.line()}" for curve in curves),
    ]
    return "\n".join(text) + "\n", curves, log


def _check(kind: str, where: str, runs: list[Run], name: str) -> None:
    place = "in a node" if where == "node" else "over nodes"
    sizes = {one.size for run in runs for one in run.timings}
    if len(sizes) < LEAST:
        at = f"{name}:{runs[0].timings[0].line}" if runs[0].timings else name
        problem = f"expected {LEAST} or more sizes above 0 of {kind} {place}, got {len(sizes)}"
        raise ConfigError(at, f"{problem}; run it with -b 1K -e 1G -f 2")
    if where == "nodes":
        uneven = [run for run in runs if run.ranks % run.nodes]
        if uneven:
            run = uneven[0]
            problem = f"expected as many ranks on each node; got {run.ranks} on {run.nodes}"
            raise ConfigError(f"{name}:{run.timings[0].line}", problem)
