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

With a `file` collectives that were measured on the very machine go before those of `system`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import log2
from os import path as paths

from yantra.base.documents import read_text
from yantra.base.errors import ConfigError, did_you_mean
from yantra.base.fields import Quantity, Section, Text, Whole
from yantra.base.fields.named_file import COLLECTIVES_FILE, NamedFile
from yantra.base.records import Record
from yantra.collectives.protocols import FACTORS, Protocols
from yantra.collectives.selection.own import Fit, load
from yantra.collectives.selection.selection import Choice, Group, Selection, Timed

_FILE = paths.join(paths.dirname(__file__), "measured.csv")
_OVER_NODES = "a100-ndv4"
_REACHED = 0.85  # of the adapters' bandwidth over nodes; see above
_OWN = "own"  # the system of what was measured on the very machine
_SIZES = tuple(sorted({round(2 ** (k / 2)) for k in range(12, 88)}))  # 64 B to 8 TiB


class Options(Record):
    """The options of `measured`; `adapter_bytes_per_ns` is a rank's bandwidth to other nodes."""

    system: str = ""
    adapter_bytes_per_ns: float = 0.0
    nodes: str = ""
    copies: int = 1
    file: str = ""


Fits = dict[tuple[str, str, str], Fit]


class Measured(Selection):
    """The time of a collective as NCCL was measured to take it."""

    options = Section(
        Options,
        {
            "system": (
                "system",
                Text(),
                "whose node was measured: a100, h100, h200, b200, gb200; or give a file",
            ),
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
            "file": (
                "file",
                NamedFile("yantra.collectives.selection.own", COLLECTIVES_FILE),
                "collectives of the very machine, by yantra calibrate --cluster; these go first",
            ),
        },
    )

    def choices(self, kind: str, group: Group) -> Sequence[Choice]:
        """Return the time of a collective by its size; nothing for kinds that are not measured."""
        given: Options = self.given
        if given.system or not given.file:
            _check_system(given.system, "node")
        if given.nodes:
            _check_system(given.nodes, "nodes")
        if kind not in FACTORS or group.ranks < 2:
            return []
        known, name = _known(given.file)
        local = max(1, group.local)
        if local >= group.ranks:
            system = _system(given, kind, known)
            return [Choice(0, _in_node(system, kind, group.ranks, known, name))] if system else []
        if (_OWN, kind, "nodes") in known:
            return [Choice(0, _over_own_nodes(given, kind, group.ranks, local, known, name))]
        if not given.system or not (given.adapter_bytes_per_ns or given.nodes):
            return []
        return [Choice(0, _over_nodes(given, kind, group.ranks, local, known))]


def _known(file: str) -> tuple[Fits, str]:
    """Return all fits, those of a file as of the system `own`, and what its machine is called."""
    if not file:
        return fits(), ""
    name, own = load(file)
    return fits() | {(_OWN, *key): fit for key, fit in own.items()}, name


def _system(given: Options, kind: str, known: Fits) -> str:
    """Return whose node a collective is taken of; empty where nobody measured it."""
    return _OWN if (_OWN, kind, "node") in known else given.system


def _in_node(system: str, kind: str, ranks: int, known: Fits, name: str) -> Timed:
    fit = known[system, kind, "node"]
    wire = FACTORS[kind] * (ranks - 1) / ranks
    points = _points(fit.protocols, kind, ranks, log2(ranks), wire)
    basis = f"collectives of NCCL measured in a node of {name if system == _OWN else system}"
    if ranks > fit.most_ranks:
        basis += f", extrapolated from {fit.most_ranks} to {ranks} ranks"
    return Timed(points, basis)


def _over_own_nodes(
    given: Options, kind: str, ranks: int, local: int, known: Fits, name: str
) -> Timed:
    """Return the time over nodes of the very machine; other ranks on a node share its adapters."""
    fit = known[_OWN, kind, "nodes"]
    scaled = fit.protocols
    basis = f"collectives of NCCL measured over nodes of {name}"
    if local != fit.local:
        less = min(local / fit.local, 1.0)
        scaled = scaled._replace(
            b_ll=scaled.b_ll * less, b_ll128=scaled.b_ll128 * less, b_simple=scaled.b_simple * less
        )
        basis += f", extrapolated from {fit.local} to {local} ranks a node"
    if ranks > fit.most_ranks:
        basis += f", extrapolated from {fit.most_ranks} to {ranks} ranks"
    system = _system(given, kind, known)
    inner = known[system, kind, "node"].protocols if system else None
    return Timed(_points_over(scaled, inner, kind, ranks, local, given.copies), basis)


def _over_nodes(given: Options, kind: str, ranks: int, local: int, known: Fits) -> Timed:
    source = given.nodes or _OVER_NODES
    fit = known[source, "all_reduce", "nodes"]
    inner = known[_system(given, kind, known), kind, "node"].protocols
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
    return Timed(_points_over(scaled, inner, kind, ranks, local, given.copies), basis)


def _points_over(
    fit: Protocols, inner: Protocols | None, kind: str, ranks: int, local: int, copies: int
) -> tuple[tuple[int, float], ...]:
    """Return (bytes, ns) over nodes; `inner` are the numbers of a node, where they are known."""
    nodes = ranks / local
    share = (ranks - 1) / ranks
    if kind == "all_to_all":
        once = (1.0 - (1.0 - 1.0 / nodes) ** copies) * nodes / copies
        share = (ranks - local) / ranks * once
    points = _points(fit, kind, ranks, log2(nodes), FACTORS[kind] * share)
    if local > 1 and inner is not None:  # never faster than among the members of one node
        wire = FACTORS[kind] * (local - 1) / (ranks if kind == "all_to_all" else local)
        within = _points(inner, kind, ranks, log2(local), wire)
        points = tuple(
            (size, max(ns, less)) for (size, ns), (_, less) in zip(points, within, strict=True)
        )
    return points


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
def fits() -> Fits:
    """Return the numbers by system, collective and `node` or `nodes`."""
    lines = [line for line in read_text(_FILE).splitlines() if not line.startswith("#")]
    head = lines[0].split(",")
    found: Fits = {}
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
    key = "system" if where == "node" else "nodes"
    if not name:
        expected = f"expected one of {', '.join(known)}, or a file of your own"
        raise ConfigError(f"collectives.selection.options.{key}", f"missing; {expected}")
    if name not in known:
        raise ConfigError(
            f"collectives.selection.options.{key}",
            f"no measured collectives of '{name}'; expected one of {', '.join(known)}"
            + did_you_mean(name, known),
        )


PLUGIN = Measured
