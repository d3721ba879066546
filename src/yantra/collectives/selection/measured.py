"""measured: the time of a whole collective, from measurements of NCCL on the same GPUs.

    selection: {kind: measured, options: {system: h100, adapter: 48.5 GB/s}}

The best of NCCL's algorithms and protocols by size (yantra.collectives.terms), from `measured.csv`,
with each fit's error and source; `python -m yantra.accuracy.collectives --write` makes it.

A collective is one phase without messages: all members end that long after the last came, and its
bytes are charged to links afterwards (`yantra.collectives.charges`). Trade-off: sharing links slows
neither it nor others.

`links` state the measured network, a bandwidth and a latency for each dimension, by default the
cluster's. On others, and in what-if bounds, each part of a time follows its links
(`yantra.collectives.terms`).

`Timed.basis` says what rests on less:

* More ranks in a node than measured (72 of an NVL72), more nodes, fewer ranks on each: by the laws
  of the terms.
* Over nodes only two all-reduces of A100s are measured. Elsewhere latencies are theirs, and the
  bandwidth is 0.85 of that of the node's adapters, or of its links if less: nccl-tests reach 0.65
  of it on Azure's NDv4 and 1.1 on AWS's p5 (with in-network help). All-gathers and reduce-scatters
  have the rings' terms with half the steps, an all-to-all the trees' latencies.
* An all-to-all over nodes sends what leaves the node over each rank's adapters. With `copies` it is
  one of experts, whose libraries (DeepEP, HybridEP) send a token once to each node with some of its
  `copies` experts: of N nodes a share (1 - (1 - 1 / N)^copies) N / copies, if chosen evenly.

A `file` of the very machine overrides `system`, with its own `Timed.interval`; others have that of
another site: `intervals.csv`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import inf
from os import path as paths

from yantra.base.documents import read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.fields import Many, Quantity, Section, Text, Whole
from yantra.base.fields.named_file import COLLECTIVES_FILE, NamedFile
from yantra.base.records import Record
from yantra.collectives.nccl.constants import BASE, NVLINK, PROTOCOLS
from yantra.collectives.selection.own import HEAD, Fit, fits_of, load
from yantra.collectives.selection.selection import Choice, Group, Selection, Timed
from yantra.collectives.terms import FACTORS, USUAL_LOCAL, Faster, Term

_FOLDER = paths.dirname(__file__)
FILE = paths.join(_FOLDER, "measured.csv")
INTERVALS = paths.join(_FOLDER, "intervals.csv")
_OVER_NODES = "a100-ndv4"
_REACHED = 0.85  # of the adapters' bandwidth over nodes; see above
_OTHER_SITE = 0.45
"""Least half of an unmeasured site's 90 % interval, as a logarithm: other nodes with the same GPUs
are 17 to 28 % off in the mean, and 90 % of a normal are within twice the mean.
"""
_OWN = "own"  # the system measured on the very machine
_SIZES = tuple(sorted({round(2 ** (k / 2)) for k in range(12, 88)}))  # 64 B to 8 TiB


class Options(Record):
    """The options of `measured`; `adapter_bytes_per_ns` is a rank's bandwidth to other nodes."""

    system: str = ""
    adapter_bytes_per_ns: float = 0.0
    nodes: str = ""
    copies: int = 1
    file: str = ""
    bandwidths: tuple[float, ...] = ()
    latencies: tuple[float, ...] = ()


Known = dict[tuple[str, str, str], Fit]


class Measured(Selection):
    options = Section(
        Options,
        {
            "system": (
                "system",
                Text(),
                "machine whose node was measured: a100, h100, h200, b200, gb200; or give a file",
            ),
            "adapter": (
                "adapter_bytes_per_ns",
                Quantity("bandwidth", "GB/s", at_least=0),
                "bandwidth of a rank's adapters to other nodes; without it, collectives over nodes "
                "keep their algorithms",
            ),
            "nodes": ("nodes", Text(), "site whose nodes were measured: a100-ndv4 or a100-p4de"),
            "copies": (
                "copies",
                Whole(at_least=0),
                "experts of a token, which an all-to-all sends once to a node; 1 sends all, 0 are "
                "those of the job's model",
            ),
            "file": (
                "file",
                NamedFile("yantra.collectives.selection.own", COLLECTIVES_FILE),
                "collectives of that machine, by yantra calibrate --cluster; these go first",
            ),
            "bandwidths": (
                "bandwidths",
                Many(Quantity("bandwidth", "GB/s", above=0)),
                "bandwidth of each dimension of the network that was measured; none: the cluster's",
            ),
            "latencies": (
                "latencies",
                Many(Quantity("time", "ns", at_least=0)),
                "latency of each dimension of the network that was measured; none: the cluster's",
            ),
        },
    )

    def choices(self, kind: str, group: Group) -> Sequence[Choice]:
        """The time of a collective by its size; nothing for kinds that are not measured."""
        given: Options = self.given
        if given.system or not given.file:
            _check_system(given.system, "node")
        if given.nodes:
            _check_system(given.nodes, "nodes")
        if kind not in FACTORS or group.ranks < 2:
            return []
        known, name = _known(given.file)
        local = max(1, group.local)
        faster = _faster(given, group)
        system = _system(given, kind, known)
        if local >= group.ranks:
            if not system:
                return []
            timed = _in_node(system, kind, group.ranks, known, name, faster)
        elif (_OWN, kind, "nodes") in known:
            timed = _over_own_nodes(given, kind, group.ranks, local, known, name, faster)
        elif given.system and (given.adapter_bytes_per_ns or given.nodes):
            timed = _over_nodes(given, kind, group.ranks, local, known, faster)
        else:
            return []
        if not _is_as_named(given, group):
            timed = timed._replace(
                basis=f"{timed.basis}, scaled to other links",
                interval=max(timed.interval, _OTHER_SITE),
            )
        return [Choice(0, timed._replace(follows_links=bool(group.links)))]


def _faster(given: Options, group: Group) -> Faster:
    """By how much a group's links are faster than measured; between nodes its slowest dimension
    counts.

    Raises ConfigError for a list that does not fit the dimensions, and where a latency of 0 would
    be scaled.
    """
    if not group.links:
        return Faster()
    dimensions = len(group.links)
    for name, values in (("bandwidths", given.bandwidths), ("latencies", given.latencies)):
        if values and len(values) != dimensions:
            expected = (
                f"one for each of {dimensions} dimensions, or none, if this network was measured"
            )
            where = f"collectives.selection.options.{name}"
            raise ConfigError(where, expected_got(expected, len(values)))
    bandwidth, latency = [], []
    for at, link in enumerate(group.links):
        named = given.bandwidths[at] if given.bandwidths else link.bytes_per_ns
        bandwidth.append(inf if link.free_bytes else link.bytes_per_ns / named)
        usual = given.latencies[at] if given.latencies else link.latency_ns
        if not usual and link.latency_ns:
            where = "collectives.selection.options.latencies"
            problem = f"steps that were measured at 0 ns cannot be scaled to {link.latency_ns:g} ns"
            raise ConfigError(where, f"dimension {at}: {problem}")
        latency.append(0.0 if link.free_latency else link.latency_ns / usual if usual else 1.0)
    over = range(1, dimensions) if group.whole is None else [at for at in group.whole if at]
    used = [*over] or [max(dimensions - 1, 0)]
    return Faster(
        bandwidth[0], latency[0],
        min(bandwidth[at] for at in used), max(latency[at] for at in used),
    )  # fmt: skip


def _is_as_named(given: Options, group: Group) -> bool:
    found = (
        (given.bandwidths, [link.bytes_per_ns for link in group.links]),
        (given.latencies, [link.latency_ns for link in group.links]),
    )
    return all(not named or list(named) == has for named, has in found if has)


def _known(file: str) -> tuple[Known, str]:
    if not file:
        return fits(), ""
    name, own = load(file)
    return fits() | {(_OWN, *key): fit for key, fit in own.items()}, name


def _system(given: Options, kind: str, known: Known) -> str:
    return _OWN if (_OWN, kind, "node") in known else given.system


def _in_node(system: str, kind: str, ranks: int, known: Known, name: str, faster: Faster) -> Timed:
    fit = known[system, kind, "node"]
    timed = _timed(fit.terms, kind, ranks, 1, faster, most=fit.most_ranks)
    basis = f"collectives of NCCL measured in a node of {name if system == _OWN else system}"
    interval = fit.interval if system == _OWN else max(_OTHER_SITE, intervals()["site"])
    if ranks > fit.most_ranks:
        basis += f", extrapolated from {fit.most_ranks} to {ranks} ranks"
        interval = max(interval, intervals()["ranks"])
    return timed._replace(basis=basis, interval=interval)


def _over_own_nodes(
    given: Options, kind: str, ranks: int, local: int, known: Known, name: str, faster: Faster
) -> Timed:
    fit = known[_OWN, kind, "nodes"]
    terms = fit.terms
    basis = f"collectives of NCCL measured over nodes of {name}"
    interval = fit.interval
    if local != fit.local:
        less = min(local / fit.local, 1.0)
        terms = tuple(
            one._replace(bytes_per_us=one.bytes_per_us * less)
            for one in _with_local(terms, fit.local, local)
        )
        basis += f", extrapolated from {fit.local} to {local} ranks a node"
        interval = max(interval, _OTHER_SITE)
    if ranks > fit.most_ranks:
        basis += f", extrapolated from {fit.most_ranks} to {ranks} ranks"
        interval = max(interval, intervals()["ranks"])
    system = _system(given, kind, known)
    inner = known[system, kind, "node"] if system else None
    timed = _timed_over(terms, inner, kind, ranks, local, given.copies, faster)
    return timed._replace(basis=basis, interval=interval)


def _over_nodes(
    given: Options, kind: str, ranks: int, local: int, known: Known, faster: Faster
) -> Timed:
    source = given.nodes or _OVER_NODES
    fit = known[source, "all_reduce", "nodes"]
    inner = known[_system(given, kind, known), kind, "node"]
    basis = f"collectives of NCCL measured over nodes of {source}"
    interval = intervals()["site_over_nodes"]
    if not _is_measured(given.nodes, kind, local, fit):
        if not given.adapter_bytes_per_ns:
            where = "collectives.selection.options.adapter"
            raise ConfigError(where, f"missing; {kind} over nodes of {local} needs it")
        basis = (
            f"collectives over nodes extrapolated from {source} to the bandwidth of {given.system}"
        )
    elif ranks > fit.most_ranks:
        basis += f", extrapolated from {fit.most_ranks} to {ranks} ranks"
    terms = over_nodes(given.nodes, kind, given.adapter_bytes_per_ns, local, inner)
    timed = _timed_over(terms, inner, kind, ranks, local, given.copies, faster)
    return timed._replace(basis=basis, interval=interval)


def over_nodes(
    nodes: str, kind: str, adapter_bytes_per_ns: float, local: int, inner: Fit
) -> tuple[Term, ...]:
    """Terms over nodes: of measured `nodes`, or derived from them.

    `inner` is the fit in a node of `local` ranks.
    """
    fit = fits()[nodes or _OVER_NODES, "all_reduce", "nodes"]
    if _is_measured(nodes, kind, local, fit):
        return fit.terms
    return _elsewhere(fit, kind, adapter_bytes_per_ns, local, inner)


def _is_measured(nodes: str, kind: str, local: int, fit: Fit) -> bool:
    return bool(nodes) and kind == "all_reduce" and local == fit.local


def runs_of(fit: Fit, kind: str, ranks: int, nodes: float) -> tuple[tuple[int, str], ...]:
    """The algorithm and protocol by least bytes, as traces state them."""
    return _timed(fit.terms, kind, ranks, nodes, Faster(), most=fit.most_ranks).runs


def _timed_over(
    terms: Sequence[Term], inner: Fit | None, kind: str, ranks: int, local: int, copies: int,
    faster: Faster,
) -> Timed:  # fmt: skip
    nodes, copies = ranks / local, max(copies, 1)
    once = (1.0 - (1.0 - 1.0 / nodes) ** copies) * nodes / copies
    if inner is not None:
        faster = faster._replace(most_in_node=_most(inner))
    timed = _timed(terms, kind, ranks, nodes, faster, once=once)
    if local > 1 and inner is not None:  # never faster than among one node's members
        # Node-mates of an all-to-all get one of all nodes' shares; all of an all-gather goes
        # through each node.
        counted = {"all_to_all": 1.0 / nodes, "all_gather": nodes}.get(kind, 1.0)
        within = _timed(inner.terms, kind, local, 1, faster, most=inner.most_ranks, counted=counted)
        points = tuple(
            (size, max(ns, less))
            for (size, ns), (_, less) in zip(timed.points, within.points, strict=True)
        )
        timed = timed._replace(points=points)
    return timed._replace(once=once)


def _most(inner: Fit) -> float:
    return max(one.bytes_per_us for one in inner.terms if one.algorithm != "NVLS")


def _elsewhere(
    fit: Fit, kind: str, adapter_bytes_per_ns: float, local: int, inner: Fit
) -> tuple[Term, ...]:
    rank = adapter_bytes_per_ns * 1000.0 * _REACHED  # bytes per microsecond
    together = rank if kind == "all_to_all" else min(rank * local, _most(inner))
    faster = together / max(one.bytes_per_us for one in fit.terms)
    terms = [
        one._replace(bytes_per_us=one.bytes_per_us * faster)
        for one in _with_local(fit.terms, fit.local, local)
    ]
    if kind == "all_reduce":
        return tuple(terms)
    if kind == "all_to_all":
        return tuple(one._replace(algorithm="Sends") for one in terms if one.algorithm == "Tree")
    return tuple(one for one in terms if one.algorithm == "Ring")


def _with_local(terms: Sequence[Term], measured: int, local: int) -> tuple[Term, ...]:
    """A tree's chain inside a node for `local` ranks: in NCCL's tuner 2 (local - 1) hops of NVLink
    beside network hops and a constant.
    """
    if measured == local:
        return tuple(terms)
    made = []
    for one in terms:
        if one.algorithm == "Tree":
            at = PROTOCOLS.index(one.protocol)
            hop, base = NVLINK["Tree"][at], BASE["Tree"][at]
            share = (base + 2.0 * (local - 1) * hop) / (base + 2.0 * (measured - 1) * hop)
            one = one._replace(latency_us=one.latency_us * share)
        made.append(one)
    return tuple(made)


def _timed(
    terms: Sequence[Term], kind: str, ranks: int, nodes: float, faster: Faster, *,
    most: int = USUAL_LOCAL, once: float = 1.0, counted: float = 1.0,
) -> Timed:  # fmt: skip
    import numpy as np

    from yantra.collectives.terms import points, taken

    stated = np.array(_SIZES, dtype=float)
    size = stated * counted * (ranks if kind == "all_gather" else 1)
    us, best = taken(terms, points(kind, ranks, nodes, size, most, once), faster)
    pairs = tuple((size, float(one) * 1000.0) for size, one in zip(_SIZES, us, strict=True))
    starts = [at for at in range(len(best)) if at == 0 or best[at] != best[at - 1]]
    runs = tuple((_SIZES[at] if at else 0, terms[best[at]].name) for at in starts)
    return Timed(pairs, "", 0.0, runs)


@cache
def fits() -> Known:
    """The fits by system, collective and `node` or `nodes`."""
    lines = [line for line in read_text(FILE).splitlines() if not line.startswith("#")]
    by_system: dict[str, list[str]] = {}
    for line in lines[1:]:
        system, _, rest = line.partition(",")
        by_system.setdefault(system, [",".join(HEAD)]).append(rest)
    return {
        (system, *key): fit
        for system, some in by_system.items()
        for key, fit in fits_of("\n".join(some), FILE).items()
    }


@cache
def intervals() -> dict[str, float]:
    """Halves of 90 % intervals, as logarithms, by what is predicted from what.

    `sizes`, more `ranks`, or another, unmeasured machine with the same parts (`site`,
    `site_over_nodes`).
    """
    lines = [line for line in read_text(INTERVALS).splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value, *_ in (line.split(",") for line in lines[1:])}


def systems(where: str) -> tuple[str, ...]:
    """The systems measured in a `node`, or over `nodes`."""
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
