"""measured: the time of a whole collective, from measurements of NCCL on the same GPUs.

    selection: {kind: measured, options: {system: h100, adapter: 48.5 GB/s}}

For every size the best of NCCL's three protocols, each with a latency and a bandwidth
(yantra.collectives.protocols). The numbers are in `measured.csv` beside this file, with the error
of each fit and its source.

A collective then is one phase without messages: all members end together, so long after the last
of them came. Trade-off: nothing that shares a link slows it down, and neither does it slow down
others; which ring or tree runs is not known. So it is for predictions of machines that exist, and
not for comparing networks or algorithms.

What rests on less says so in `Timed.basis`:

* More ranks in a node than were measured (72 of an NVL72): the logarithm is carried on.
* Over nodes two all-reduces of A100s alone are measured. Elsewhere latencies are theirs, and the
  bandwidth is that of the adapters of a rank and its node-mates, or of the links in the node if
  that is less, times 0.85: what nccl-tests reach of it is 0.65 on Azure's NDv4 and 1.1 on AWS's p5
  (with in-network help). Other collectives take half of the steps of an all-reduce.
* An all-to-all over nodes sends what leaves the node over the adapters of each rank. With `copies`
  it is one of experts, whose libraries (DeepEP, HybridEP) send a token once to each node that holds
  some of its `copies` experts: of N nodes a share (1 - (1 - 1 / N)^copies) N / copies, if experts
  are chosen evenly.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import log2
from os import path as paths
from typing import NamedTuple

from yantra.base.documents import read_text
from yantra.base.errors import ConfigError, did_you_mean
from yantra.base.fields import Quantity, Section, Text, Whole
from yantra.base.records import Record
from yantra.collectives.protocols import FACTORS, Protocols
from yantra.collectives.selection.selection import Choice, Group, Selection, Timed

_FILE = paths.join(paths.dirname(__file__), "measured.csv")
_OVER_NODES = "a100-ndv4"
_REACHED = 0.85  # of the adapters' bandwidth over nodes; see above
_SIZES = tuple(sorted({round(2 ** (k / 2)) for k in range(12, 88)}))  # 64 B to 8 TiB


class Options(Record):
    """The options of `measured`; `adapter_bytes_per_ns` is a rank's bandwidth to other nodes."""

    system: str
    adapter_bytes_per_ns: float = 0.0
    nodes: str = ""
    copies: int = 1


class Fit(NamedTuple):
    """Numbers of one collective, how many ranks were measured, and how far off they are."""

    protocols: Protocols
    most_ranks: int
    mean_error: float


class Measured(Selection):
    """The time of a collective as NCCL was measured to take it."""

    options = Section(
        Options,
        {
            "system": ("system", Text(), "whose node was measured: a100, h100, h200, b200, gb200"),
            "adapter": (
                "adapter_bytes_per_ns",
                Quantity("bandwidth", "GB/s", at_least=0),
                "of a rank's adapters to other nodes; without it, collectives over nodes keep "
                "their algorithms",
            ),
            "nodes": ("nodes", Text(), "whose nodes were measured: a100-ndv4 or a100-p4de"),
            "copies": (
                "copies",
                Whole(at_least=1),
                "experts of a token, which an all-to-all sends once to a node; 1 sends all",
            ),
        },
    )

    def choices(self, kind: str, group: Group) -> Sequence[Choice]:
        """Return the time of a collective by its size; nothing for kinds that are not measured."""
        given: Options = self.given
        known = fits()
        _check_system(given.system, "node")
        if given.nodes:
            _check_system(given.nodes, "nodes")
        if kind not in FACTORS or group.ranks < 2:
            return []
        local = max(1, group.local)
        if local >= group.ranks:
            return [Choice(0, _in_node(given.system, kind, group.ranks, known))]
        if not given.adapter_bytes_per_ns and not given.nodes:
            return []
        return [Choice(0, _over_nodes(given, kind, group.ranks, local, known))]


def _in_node(system: str, kind: str, ranks: int, known: dict[tuple[str, str, str], Fit]) -> Timed:
    fit = known[system, kind, "node"]
    wire = FACTORS[kind] * (ranks - 1) / ranks
    points = _points(fit.protocols, kind, ranks, log2(ranks), wire)
    basis = f"collectives of NCCL measured in a node of {system}"
    if ranks > fit.most_ranks:
        basis += f", extrapolated from {fit.most_ranks} to {ranks} ranks"
    return Timed(points, basis)


def _over_nodes(
    given: Options, kind: str, ranks: int, local: int, known: dict[tuple[str, str, str], Fit]
) -> Timed:
    nodes = ranks / local
    source = given.nodes or _OVER_NODES
    fit = known[source, "all_reduce", "nodes"]
    inner = known[given.system, kind, "node"].protocols
    scaled = fit.protocols
    is_measured = bool(given.nodes) and kind == "all_reduce" and local == 8
    basis = f"collectives of NCCL measured over nodes of {source}"
    if not is_measured:
        scaled = _scaled(fit.protocols, given, kind, local, inner)
        basis = (
            f"collectives over nodes extrapolated from {source} to the bandwidth of {given.system}"
        )
    elif ranks > fit.most_ranks:
        basis += f", extrapolated from {fit.most_ranks} to {ranks} ranks"
    share = (ranks - 1) / ranks
    if kind == "all_to_all":
        once = (1.0 - (1.0 - 1.0 / nodes) ** given.copies) * nodes / given.copies
        share = (ranks - local) / ranks * once
    points = _points(scaled, kind, ranks, log2(nodes), FACTORS[kind] * share)
    if local > 1:  # never faster than among the members of one node
        wire = FACTORS[kind] * (local - 1) / (ranks if kind == "all_to_all" else local)
        within = _points(inner, kind, ranks, log2(local), wire)
        points = tuple(
            (size, max(ns, less)) for (size, ns), (_, less) in zip(points, within, strict=True)
        )
    return Timed(points, basis)


def _scaled(fit: Protocols, given: Options, kind: str, local: int, inner: Protocols) -> Protocols:
    """Return the numbers over nodes with the latencies of those measured and another bandwidth."""
    rank = given.adapter_bytes_per_ns * 1000.0 * _REACHED  # bytes per microsecond
    together = rank if kind == "all_to_all" else min(rank * local, inner.b_simple)
    faster = together / max(fit.b_ll, fit.b_ll128, fit.b_simple)
    steps = 1.0 if kind == "all_reduce" else 0.5
    return fit._replace(
        b_ll=fit.b_ll * faster,
        b_ll128=fit.b_ll128 * faster,
        b_simple=fit.b_simple * faster,
        h_ll=fit.h_ll * steps,
        h_ll128=fit.h_ll128 * steps,
        h_simple=fit.h_simple * steps,
    )


def _points(
    fit: Protocols, kind: str, ranks: int, hops: float, wire: float
) -> tuple[tuple[int, float], ...]:
    """Return (bytes, ns) for the sizes of a collective as traces state them."""
    import numpy as np

    from yantra.collectives.protocols import time_us

    stated = np.array(_SIZES, dtype=float)
    counted = stated * ranks if kind == "all_gather" else stated
    us = time_us(fit, np.full(len(stated), hops), counted, wire * counted)
    return tuple((size, float(one) * 1000.0) for size, one in zip(_SIZES, us, strict=True))


@cache
def fits() -> dict[tuple[str, str, str], Fit]:
    """Return the numbers by system, collective and `node` or `nodes`."""
    lines = [line for line in read_text(_FILE).splitlines() if not line.startswith("#")]
    head = lines[0].split(",")
    found = {}
    for line in lines[1:]:
        row = dict(zip(head, line.split(","), strict=True))
        protocols = Protocols(*(float(row[name]) for name in Protocols._fields))
        key = (row["system"], row["collective"], row["where"])
        found[key] = Fit(protocols, int(row["most_ranks"]), float(row["mean_error"]))
    return found


def systems(where: str) -> tuple[str, ...]:
    """Return the systems that were measured in a `node`, or over `nodes`."""
    return tuple(dict.fromkeys(system for system, _, at in fits() if at == where))


def _check_system(name: str, where: str) -> None:
    known = systems(where)
    if name not in known:
        key = "system" if where == "node" else "nodes"
        raise ConfigError(
            f"collectives.selection.options.{key}",
            f"no measured collectives of '{name}'; expected one of {', '.join(known)}"
            + did_you_mean(name, known),
        )


PLUGIN = Measured
