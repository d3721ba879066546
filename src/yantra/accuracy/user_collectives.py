"""A user's own measured collectives: logs of nccl-tests to numbers that a run uses.

Of each collective, in a node and over nodes, the terms of the algorithms and protocols
(`yantra.collectives.terms`) are fitted to all sizes and numbers of ranks. They are drawn to those
of the named cluster that the machine is one of, else to a usual machine's: eight sizes do not tell
all numbers of all terms. Hosts of a log that a cluster has within one domain of its links, as an
NVL72 has, are one node.

The interval is that of sizes left out, every third at a time: of the log itself with 20 times or
more, and at least that of the published machines with fewer.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from math import ceil, isfinite, log
from typing import TYPE_CHECKING, NamedTuple

from yantra.accuracy.collective_rows import LEAST_OF_NVLS, Row, fit_rows, ratios
from yantra.accuracy.fit import half_width
from yantra.accuracy.metrics import errors
from yantra.accuracy.nccl_log import Log, Run, read_log
from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError
from yantra.base.text import count
from yantra.collectives.selection import measured as selection
from yantra.collectives.selection.own import HEAD, Fit, load
from yantra.collectives.terms import Term, usual
from yantra.fabric import clusters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.fabric.clusters.types import Cluster
    from yantra.fabric.stacks.choice import Speeds

LEAST = 6
"""Sizes from which a fit is made."""

ENOUGH = 20
_THIRDS = 3
_ADDS = re.compile(r"\b(?:H|B|GB)\d{2,3}\b")
"""GPUs whose switches add (NVLink SHARP): Hopper and later."""


class Curve(NamedTuple):
    """The fit of one collective in a node or over nodes, and which term runs from which size.

    Sizes are bytes as traces state them, at the most ranks that were measured.
    """

    collective: str
    where: str
    fit: Fit
    runs: tuple[tuple[int, str], ...]


class Made(NamedTuple):
    """The text of a file, the fits in it, the log, and whether it is that of a whole cluster."""

    text: str
    curves: list[Curve]
    log: Log
    is_cluster: bool


def curve_of(runs: Sequence[Run], base: Cluster | None = None) -> Curve:
    """Return the fit of runs of one collective, all in a node or all over nodes."""
    rows = [
        Row("own", run.collective, "", run.ranks, run.nodes, one.size, one.us)
        for run in runs
        for one in run.timings
    ]
    kind, where = rows[0].collective, rows[0].where
    like = () if base is None else _like(base, kind, runs)
    prior, alike = like or usual(kind, where == "nodes", _adds(runs)), bool(like)
    terms = fit_rows(rows, prior, alike=alike)
    off = []
    sizes = sorted({row.size for row in rows})
    for third in range(_THIRDS):
        out = set(sizes[third::_THIRDS])
        left = [row for row in rows if row.size in out]
        seen = fit_rows([row for row in rows if row.size not in out], prior, alike=alike)
        off += [-log(float(one)) for one in ratios(seen, left)]
    interval = half_width(off)
    if len(off) < ENOUGH or not isfinite(interval):
        name = "sizes" if where == "node" else "sizes_over_nodes"
        known = max(width for _, width in selection.intervals()[name])
        interval = max(interval, known) if isfinite(interval) else known
    most = max(runs, key=lambda run: run.ranks)
    fit = Fit(
        terms,
        most.ranks,
        errors([float(one) for one in ratios(terms, rows)]).mean,
        min(run.ranks // run.nodes for run in runs),
        len(rows),
        interval,
    )
    return Curve(kind, where, fit, selection.runs_of(fit, kind, most.ranks, most.nodes))


def _adds(runs: Sequence[Run]) -> bool:
    """Return whether switches add where a log is from, and enough ranks show it."""
    most = max(runs, key=lambda run: run.ranks)
    return most.ranks >= LEAST_OF_NVLS and _ADDS.search(most.device) is not None


def _like(base: Cluster, kind: str, runs: Sequence[Run]) -> tuple[Term, ...]:
    """Return the terms that a named cluster has; none where nobody measured one."""
    inner = selection.fits().get((base.measured or "", kind, "node"))
    if inner is None or runs[0].where == "node":
        return inner.terms if inner else ()
    local = min(run.ranks // run.nodes for run in runs)
    stated: Speeds = "achievable" if base.site is None else "nominal"
    adapter = base.network[-1].device_bytes_per_s(stated) / 1e9
    most = max(run.ranks for run in runs)
    return selection.over_nodes(base.site or "", kind, adapter, most, local, inner)


def collectives_text(path: Path, cluster: str) -> Made:
    """Return the file of a machine's collectives, or of a cluster with them.

    `cluster` is a named cluster or the path of one, of which the machine is, else what the machine
    is called. Raises ConfigError with file and line.
    """
    if not cluster.strip() or not cluster.isprintable():
        raise ConfigError("--cluster", "expected a name for the machine, such as my-node")
    base = None
    if clusters.knows(cluster) or "/" in cluster or cluster.endswith(".yaml"):
        base = clusters.load(cluster, where="--cluster")
    log_ = read_log(path)
    if not log_.runs:
        raise ConfigError(log_.notes[0].partition(": ")[0], log_.notes[0].partition(": ")[2])
    groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in log_.runs:
        placed = run._replace(nodes=_domains(run, base))
        groups[placed.collective, placed.where].append(placed)
    for (kind, where), runs in groups.items():
        _check(kind, where, runs, str(path))
    curves = [curve_of(groups[key], base) for key in sorted(groups)]
    source = f"nccl-tests: {_rests(groups)}"
    if base is None:
        return Made(_alone(cluster, source, curves), curves, log_, False)
    return Made(_whole(cluster, base, source, curves), curves, log_, True)


def _domains(run: Run, base: Cluster | None) -> int:
    """Return on how many domains of the innermost links a run is: its hosts, or fewer."""
    members = base.network[0].members if base is not None else None
    if members is None or run.nodes == 1:
        return run.nodes
    return min(run.nodes, ceil(run.ranks / members.value))


def _rests(groups: dict[tuple[str, str], list[Run]]) -> str:
    """Return in words what was measured."""
    said = []
    for (kind, _), runs in sorted(groups.items()):
        sizes = sorted({(run.ranks, run.nodes) for run in runs})
        on = " and ".join(f"{ranks} ranks in {count(nodes, 'node')}" for ranks, nodes in sizes)
        said.append(f"{kind} on {on}")
    return "; ".join(said)


def _alone(name: str, source: str, curves: Sequence[Curve]) -> str:
    """Return a file of collectives alone."""
    text = [
        f"title: {_quoted(f'Collectives measured on {name}')}",
        "based_on: unknown",
        f"cluster: {_quoted(name)}",
        f"source: {_quoted(source)}",
        "collectives: |",
        f"  {','.join(HEAD)}",
        *(f"  {line}" for one in curves for line in one.fit.lines(one.collective, one.where)),
    ]
    return "\n".join(text) + "\n"


def _whole(name: str, base: Cluster, source: str, curves: Sequence[Curve]) -> str:
    """Return the file of a cluster with collectives of its own in place of those it has.

    Collectives that it has of its own already, and that were not measured now, are kept.
    """
    text = read_text(clusters.path_of(name))
    kept = _fits_in(base)
    kept |= {(one.collective, one.where): one.fit for one in curves}
    # A top-level key ends where the next line begins that is neither indented nor empty.
    rest = re.sub(r"(?m)^(?:collectives|site):.*\n?(?:(?:[ \t].*)?\n|[ \t].*$)*", "", text).rstrip()
    lines = [rest, *([] if base.site is None else ["", f"site: {base.site}"]), "", "collectives:"]
    if base.chunks is not None:
        lines.append(f"  chunks: {base.chunks}")
    lines.append(f"  inter_dimension: {base.inter_dimension}")
    if base.measured is not None:
        lines.append(f"  measured: {base.measured}")
    lines += [f"  fitted_to: {_quoted(source)}", "  fits: |", f"    {','.join(HEAD)}"]
    lines += [f"    {line}" for key in sorted(kept) for line in kept[key].lines(*key)]
    return "\n".join(lines) + "\n"


def _fits_in(base: Cluster) -> dict[tuple[str, str], Fit]:
    """Return the fits in the file of a cluster."""
    return dict(load(base.fits)[1]) if base.fits else {}


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


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


__all__ = ["LEAST", "Curve", "Made", "collectives_text", "curve_of"]
