"""measured: the time of a whole collective, from measurements of NCCL on the same GPUs.

The best of NCCL's algorithms and protocols by size (yantra.collectives.terms), from `measured.csv`,
with each fit's error and source; `python -m yantra.accuracy.collectives --write` makes it.

A collective is one phase without messages: all members end that long after the last came, and its
bytes are charged to links afterwards (`yantra.collectives.charges`). Trade-off: sharing links slows
neither it nor others.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.fields import Choice as Name
from yantra.base.fields import Many, Quantity, Section, Text, Whole
from yantra.base.fields.named_file import COLLECTIVES_FILE, NamedFile
from yantra.base.records import Record
from yantra.collectives import custom_all_reduce, sites
from yantra.collectives.custom_all_reduce import ENGINES
from yantra.collectives.selection.over_nodes import (
    fabric_of,
    is_measured,
    terms_of,
    with_local,
)
from yantra.collectives.selection.own import Fit, load
from yantra.collectives.selection.selection import Choice, Group, Selection, Timed
from yantra.collectives.selection.tables import (
    FILE,
    INTERVALS,
    Bands,
    Known,
    fits,
    intervals,
    systems,
    widest,
)
from yantra.collectives.terms import FACTORS, USUAL_LOCAL, Faster, Term

_OTHER_SITE: Bands = ((0, 0.45),)
"""Least half of the 90 % interval of links that nobody measured, as a logarithm: other nodes with
the same GPUs are 17 to 28 % off in the mean, and 90 % of a normal are within twice the mean.
"""
_VIRTUAL: Bands = ((0, 0.28), ((256 << 10) + 1, 0.24), ((64 << 20) + 1, 0.1))
"""The same where a site multiplies a node's latencies: all-reduces on Azure's A100, H100, H200."""
_OWN = "own"  # the system measured on the very machine
_SIZES = tuple(sorted({round(2 ** (k / 2)) for k in range(12, 88)}))  # 64 B to 8 TiB


class Options(Record):
    system: str = ""
    adapter_bytes_per_ns: float = 0.0
    nodes: str = ""
    copies: int = 1
    file: str = ""
    engine: str = ""
    bandwidths: tuple[float, ...] = ()
    latencies: tuple[float, ...] = ()


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
            "nodes": (
                "nodes",
                NamedFile(
                    "yantra.collectives.sites", "the name of a site, or the path of its file"
                ),
                "site whose fabric is between the nodes, such as aws-p5",
            ),
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
            "engine": (
                "engine",
                Name(ENGINES),
                "serving engine whose own kernels run small all-reduces in a node",
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
        given: Options = self.given
        if given.system or not given.file:
            _check_system(given.system)
        if kind not in FACTORS or group.ranks < 2:
            return []
        known, name = _known(given.file)
        local = max(1, group.local)
        faster = _faster(given, group)
        system = _system(given, kind, known)
        if local >= group.ranks:
            if not system:
                return []
            faster = _with_links(faster, known[system, kind, "node"], group)
            timed, widths = _in_node(given, system, kind, group, known, name, faster)
            if given.engine and kind == "all_reduce":
                terms = known[system, kind, "node"].terms
                timed = _of_engine(given, timed, terms, group.ranks, faster)
                widths = widest(widths, _OTHER_SITE)
        elif (_OWN, kind, "nodes") in known:
            timed, widths = _over_own_nodes(given, kind, group.ranks, local, known, name, faster)
        elif given.system and (given.adapter_bytes_per_ns or given.nodes):
            timed, widths = _over_nodes(given, kind, group.ranks, local, known, faster)
        else:
            return []
        if not _is_as_named(given, group, kind):
            timed = timed._replace(basis=f"{timed.basis}, scaled to other links")
            widths = widest(widths, _OTHER_SITE)
        timed = timed._replace(follows_links=bool(group.links))
        counted = group.ranks if kind == "all_gather" else 1
        return [
            Choice(ceil(start / counted), timed._replace(interval=width)) for start, width in widths
        ]


def _faster(given: Options, group: Group) -> Faster:
    """Raises ConfigError for a list that does not fit the dimensions, or a latency of 0."""
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


def _with_links(faster: Faster, fit: Fit, group: Group) -> Faster:
    if group.dimensions[0][0] != "fully_connected" or group.ranks >= fit.most_ranks:
        return faster
    share = (group.ranks - 1.0) / (fit.most_ranks - 1.0)
    return faster._replace(bandwidth=faster.bandwidth * share)


def _is_as_named(given: Options, group: Group, kind: str) -> bool:
    over = 1 < group.local < group.ranks and _is_of_site(given, group, kind)
    found = (
        (given.bandwidths, [link.bytes_per_ns for link in group.links]),
        (given.latencies, [link.latency_ns for link in group.links]),
    )
    return all(not named or list(named)[over:] == has[over:] for named, has in found if has)


def _is_of_site(given: Options, group: Group, kind: str) -> bool:
    fabric = fabric_of(given.nodes, given.adapter_bytes_per_ns)
    return is_measured(fabric, kind, group.ranks, max(1, group.local))


def _known(file: str) -> tuple[Known, str]:
    if not file:
        return fits(), ""
    name, own = load(file)
    return fits() | {(_OWN, *key): fit for key, fit in own.items()}, name


def _system(given: Options, kind: str, known: Known) -> str:
    return _OWN if (_OWN, kind, "node") in known else given.system


def _in_node(
    given: Options, system: str, kind: str, group: Group, known: Known, name: str, faster: Faster
) -> tuple[Timed, Bands]:
    fit = known[system, kind, "node"]
    ranks, terms, widths = group.ranks, fit.terms, intervals()["site"]
    if system == _OWN:
        widths = ((0, fit.interval),)
    elif given.nodes and (slower := sites.load(given.nodes).inside) != 1.0:
        terms = tuple(
            one._replace(latency_us=one.latency_us * slower, step_us=one.step_us * slower)
            for one in terms
        )
        widths = widest(widths, _VIRTUAL)
    timed = _timed(terms, kind, ranks, 1, faster, most=fit.most_ranks)
    basis = f"collectives of NCCL measured in a node of {name if system == _OWN else system}"
    if ranks > fit.most_ranks:
        basis += f", extrapolated from {fit.most_ranks} to {ranks} ranks"
        widths = widest(widths, intervals()["ranks"])
    return timed._replace(basis=basis), widths


def _of_engine(
    given: Options, timed: Timed, terms: Sequence[Term], ranks: int, faster: Faster
) -> Timed:
    import numpy as np

    last = custom_all_reduce.limit(given.engine, given.system, ranks)
    if not last:
        return timed
    sizes = [*(size for size in _SIZES if size < last), last]
    made = custom_all_reduce.timed(given.engine, terms, ranks, sizes, faster)
    at = [size for size, _ in timed.points]
    usual = np.interp([*sizes, last + 1], at, [ns for _, ns in timed.points])
    after = usual[-1]
    points = [
        (size, min(us * 1e3, float(ns)))
        for size, ns, (us, _) in zip(sizes, usual, made, strict=False)
    ]
    points += [(last + 1, float(after)), *(one for one in timed.points if one[0] > last + 1)]
    names = [name for _, name in made]
    starts = [k for k in range(len(names)) if k == 0 or names[k] != names[k - 1]]
    runs = [(sizes[k] if k else 0, names[k]) for k in starts]
    left = [name for start, name in timed.runs if start <= last + 1][-1]
    runs += [(last + 1, left), *(one for one in timed.runs if one[0] > last + 1)]
    basis = f"{timed.basis}; up to {last} B by {given.engine}'s own kernels"
    return timed._replace(points=tuple(points), runs=tuple(runs), basis=basis)


def _over_own_nodes(
    given: Options, kind: str, ranks: int, local: int, known: Known, name: str, faster: Faster
) -> tuple[Timed, Bands]:
    fit = known[_OWN, kind, "nodes"]
    terms = fit.terms
    basis = f"collectives of NCCL measured over nodes of {name}"
    widths: Bands = ((0, fit.interval),)
    if local != fit.local:
        less = min(local / fit.local, 1.0)
        terms = tuple(
            one._replace(bytes_per_us=one.bytes_per_us * less)
            for one in with_local(terms, fit.local, local)
        )
        basis += f", extrapolated from {fit.local} to {local} ranks a node"
        widths = widest(widths, _OTHER_SITE)
    if ranks > fit.most_ranks:
        basis += f", extrapolated from {fit.most_ranks} to {ranks} ranks"
        widths = widest(widths, intervals()["ranks_over_nodes"])
    system = _system(given, kind, known)
    inner = known[system, kind, "node"] if system else None
    timed = _timed_over(terms, inner, kind, ranks, local, given.copies, faster)
    return timed._replace(basis=basis), widths


def _over_nodes(
    given: Options, kind: str, ranks: int, local: int, known: Known, faster: Faster
) -> tuple[Timed, Bands]:
    fabric = fabric_of(given.nodes, given.adapter_bytes_per_ns)
    inner = known[_system(given, kind, known), kind, "node"]
    fit = fits()[fabric.like[0], "all_reduce", "nodes"]
    own = is_measured(fabric, kind, ranks, local)
    like = ", ".join(fabric.like)
    if own:
        basis = f"collectives measured over nodes of {given.nodes}"
    elif given.nodes:
        basis = f"collectives over nodes of {given.nodes} extrapolated from {like}"
    else:
        basis = (
            f"collectives over nodes extrapolated from {like} to the bandwidth of {given.system}"
        )
    widths = intervals()["sizes_over_nodes" if own else "site_over_nodes"]
    if ranks > fit.most_ranks:
        basis += f", extrapolated from {fit.most_ranks} to {ranks} ranks"
        widths = widest(widths, intervals()["ranks_over_nodes"])
    terms = terms_of(fabric, kind, ranks, local, inner)
    timed = _timed_over(terms, None if own else inner, kind, ranks, local, given.copies, faster)
    return timed._replace(basis=basis), widths


def over_nodes(
    nodes: str, kind: str, adapter_bytes_per_ns: float, ranks: int, local: int, inner: Fit
) -> tuple[Term, ...]:
    return terms_of(fabric_of(nodes, adapter_bytes_per_ns), kind, ranks, local, inner)


def runs_of(fit: Fit, kind: str, ranks: int, nodes: float) -> tuple[tuple[int, str], ...]:
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
        # Node-mates get one of all nodes' shares of an all-to-all, all of an all-gather.
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


def _check_system(name: str) -> None:
    known = systems("node")
    where = "collectives.selection.options.system"
    if not name:
        expected = f"expected one of {', '.join(known)}, or a file of your own"
        raise ConfigError(where, f"missing; {expected}")
    if name not in known:
        problem = f"no measured collectives of '{name}'; expected one of {', '.join(known)}"
        raise ConfigError(where, problem + did_you_mean(name, known))


PLUGIN = Measured

__all__ = ["FILE", "INTERVALS", "PLUGIN", "Measured", "fits", "intervals", "over_nodes", "systems"]
