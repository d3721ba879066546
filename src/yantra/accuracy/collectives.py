"""How far predicted collectives are from measured ones, judged by fits that did not see them.

    python -m yantra.accuracy.collectives             judges, and prints the figures
    python -m yantra.accuracy.collectives --write     also records them, and writes the fits and
                                                      intervals that runs use
    python -m yantra.accuracy.collectives --rows FILE judges the fits that runs use on rows of FILE
    python -m yantra.accuracy.collectives --more FILE also judges and fits rows that may not ship;
                                                      else these systems keep fits and figures

What is left out is never single rows:

* sizes: every third size, at all ranks and versions of NCCL at once; each size once.
* ranks: in a node 8 (or 4) ranks from fewer; over nodes 16 from 64 devices, and 64 from 16.
* site: a system in a node from another with the same links, over nodes from all other sites and the
  rate of its adapters, or with eight times of its own as well: of a whole node (over nodes: of all
  ranks), one of each of as many sizes.
* switches: whether all-reduces of 256 MiB in a node are added by the switches where that was
  measured to be faster than a ring can be.

Intervals are conformal (`yantra.accuracy.fit`): the half-width that a row is judged with is that of
the residuals of other systems at such sizes, in a node or over nodes as it is. Runs have that of
all systems.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf, log
from os import path as paths
from typing import NamedTuple

from yantra.accuracy.collective_rows import (
    LEAST_OF_NVLS,
    Key,
    Row,
    all_fits,
    fit_rows,
    grouped,
    measured,
    prior_of,
    ratios,
    read_rows,
    rows,
)  # fmt: skip
from yantra.accuracy.fit import half_width
from yantra.accuracy.metrics import errors
from yantra.base.documents import read_text
from yantra.base.errors import ConfigError
from yantra.base.output import write_text
from yantra.base.whole_numbers import is_whole
from yantra.collectives import sites
from yantra.collectives.selection import measured as selection
from yantra.collectives.selection.over_nodes import Fabric, terms_of
from yantra.collectives.selection.own import HEAD, Fit
from yantra.collectives.terms import FACTORS, Term, points, taken, wire

RECORD = paths.join(paths.dirname(__file__), "rows", "collectives_judged.csv")
BANDS = (16 << 10, 256 << 10, 4 << 20, 64 << 20, 1 << 62)
"""Bytes up to which each band of sizes goes."""

SITES = (
    ("h100", "h200"), ("h200", "h100"), ("b200", "gb200"), ("gb200", "gb300"), ("gb300", "gb200"),
)  # fmt: skip
"""A system that is predicted from, and one that is like it."""

WIDTHS = (256 << 10, 64 << 20, 1 << 62)
"""Bytes up to which intervals have one width."""

INNER = {"a100-ndv4": "a100", "a100-p4de": "a100", "mi300x": "mi300x", "mi355x": "mi300x"}
"""The system in a node of those measured over nodes."""

UNSHIPPED = ("mi300x", "mi355x")
"""Systems whose rows have no licence, so that only fits and figures ship."""

OWN = 8
THIRDS = 3
CLOSE = 0.03
CLOSE_RING = 0.985
"""Of a ring's time: less is told from it, beside what two runs differ by."""


class Judged(NamedTuple):
    """A row, ours as a multiple of its time, and half of its interval as a logarithm."""

    row: Row
    ratio: float
    interval: float = 0.0

    @property
    def residual(self) -> float:
        """Return the logarithm of measured / predicted."""
        return -log(self.ratio)

    @property
    def band(self) -> int:
        """Return the number of the band of its size."""
        return next(at for at, most in enumerate(BANDS) if self.row.size <= most)

    @property
    def holds(self) -> bool:
        """Return whether the measured time is within the interval."""
        return abs(self.residual) <= self.interval


class Figure(NamedTuple):
    """Errors of the rows of one judgement as fractions; -1 of bands without rows."""

    what: str
    system: str
    rows: int
    median: float
    mean: float
    covered: float
    bands: tuple[float, ...]

    def line(self) -> str:
        """Return the line of the record."""
        numbers = (self.median, self.mean, self.covered, *self.bands)
        return f"{self.what},{self.system},{self.rows}," + ",".join(f"{one:.4f}" for one in numbers)


def sizes_left_out(some: Sequence[Row]) -> list[Judged]:
    """Return every row, judged by fits to the two thirds of sizes that its own is not among."""
    found = []
    for third in range(THIRDS):
        out = {
            (key, size)
            for key, group in grouped(some).items()
            for size in sorted({row.size for row in group})[third::THIRDS]
        }
        left = [row for row in some if (_key(row), row.size) in out]
        known = all_fits(row for row in some if (_key(row), row.size) not in out)
        found += _judged(known, left)
    return found


def ranks_left_out(some: Sequence[Row]) -> list[Judged]:
    """Return rows judged by fits to other numbers of ranks: more in a node, others over nodes."""
    found = []
    for key, group in grouped(some).items():
        counts = sorted({row.ranks for row in group})
        if len(counts) < 2:
            continue
        for out in counts[-1:] if key[2] == "node" else counts:
            fitted_to = [row for row in group if row.ranks != out]
            terms = fit_rows(fitted_to, prior_of(key, fitted_to))
            most = max(row.ranks for row in fitted_to)
            left = [row for row in group if row.ranks == out]
            found += _rated(left, ratios(terms, left, most if key[2] == "node" else None))
    return found


def other_sites(some: Sequence[Row], own: int) -> list[Judged]:
    """Return rows judged by the fit of systems like theirs, and so many times of their own."""
    groups, found = grouped(some), []
    known = all_fits(some)
    over = [key for key in groups if key[2] == "nodes" and len({r.size for r in groups[key]}) > OWN]
    pairs = [
        (known[like, *key[1:]], group)
        for like, system in SITES
        for key, group in groups.items()
        if key[0] == system and (like, *key[1:]) in known
    ]
    pairs += [(_from_others(key, groups[key]), groups[key]) for key in over if own]
    for terms, group in pairs:
        chosen = own_rows(group, own)
        if chosen:
            terms = fit_rows(chosen, terms, alike=True)
        left = [row for row in group if row not in chosen]
        found += _rated(left, ratios(terms, left))
    for key in over if not own else ():
        for ranks in sorted({row.ranks for row in groups[key]}):
            left = [row for row in groups[key] if row.ranks == ranks]
            found += _rated(left, ratios(_from_others(key, left), left))
    return found


def _from_others(key: Key, some: Sequence[Row]) -> tuple[Term, ...]:
    """Return the terms over nodes that a site has from all others that ship, and its adapters."""
    others = tuple(one for one in selection.systems("nodes") if one != key[0])
    most = max(some, key=lambda row: row.ranks)
    local = most.ranks // most.nodes
    inner = selection.fits()[INNER[key[0]], key[1], "node"]
    return terms_of(
        Fabric("", sites.rate_of(key[0]) / local, others), key[1], most.ranks, local, inner
    )


def own_rows(group: Sequence[Row], count: int) -> list[Row]:
    """Return rows of one run of a whole node or of all nodes: so many sizes, evenly spread."""
    most = max(row.ranks for row in group)
    newest = max((row.nccl for row in group), key=_version)
    run = sorted(
        (row for row in group if row.ranks == most and row.nccl == newest), key=lambda row: row.size
    )
    if not count:
        return []
    return [run[round(at * (len(run) - 1) / (count - 1))] for at in range(count)]


def switches(some: Sequence[Row]) -> tuple[int, int]:
    """Return how many large all-reduces in a node are judged, and of how many NVLS is right.

    Switches add where more ranks take less than a ring that has the bandwidth measured with fewer,
    and with five ranks or more. Where both are equally fast within 3 % neither is wrong.
    """
    known = all_fits(some)
    right = asked = 0
    for key, group in grouped(some).items():
        if key[1:] != ("all_reduce", "node"):
            continue
        size = max(row.size for row in group)
        counts = sorted({row.ranks for row in group})
        rings = [one for one in known[key] if one.algorithm != "NVLS"]
        for few, many in itertools.pairwise(counts):
            took = {n: min(r.us for r in group if (r.ranks, r.size) == (n, size)) for n in counts}
            grows = _wire(rings[-1], many, size) / _wire(rings[-1], few, size)
            adds = many >= LEAST_OF_NVLS and took[many] < CLOSE_RING * took[few] * grows
            gain = _us(rings, many, size) / _us(known[key], many, size)
            asked += 1
            right += gain > 1.0 if adds else gain < 1.0 + CLOSE
    return asked, right


def _wire(ring: Term, ranks: int, size: int) -> float:
    return float(wire(ring, points("all_reduce", ranks, 1, [size]))[0])


def _us(terms: Sequence[Term], ranks: int, size: int) -> float:
    return float(taken(terms, points("all_reduce", ranks, 1, [size]))[0][0])


def figures(
    some: Sequence[Row], judged: Mapping[str, Sequence[Judged]], apart: Collection[str] = ()
) -> list[Figure]:
    """Return all figures of rows, and of what `judgements` makes of them; some are not in `all`.

    Systems whose rows do not ship keep the figures that they had.
    """
    found: list[Figure] = []
    kept = [one for one in recorded() if one.system in UNSHIPPED and one.system not in apart]
    for what, rated in judged.items():
        whole = with_intervals(rated)
        found += _figures(what, [one for one in whole if one.row.system not in apart])
        for system in apart:
            if of := [one for one in whole if one.row.system == system]:
                found.append(_figure(what, system, of))
        found += [one for one in kept if one.what == what]
    asked, right = switches(some)
    wrong = 1.0 - right / asked if asked else 0.0
    return [*found, Figure("switches", "all", asked, wrong, wrong, 1.0, (-1.0,) * len(BANDS))]


def judgements(some: Sequence[Row]) -> dict[str, list[Judged]]:
    """Return the judged rows by what was left out."""
    return {
        "sizes": sizes_left_out(some),
        "ranks": ranks_left_out(some),
        "site_with_8": other_sites(some, OWN),
        "site": other_sites(some, 0),
    }


def with_intervals(some: Sequence[Judged]) -> list[Judged]:
    """Return rows with the intervals that other systems give them."""
    widths = {}
    for place in dict.fromkeys(_place(one) for one in some):
        like = [one for one in some if _place(one)[1:] == place[1:]]
        others = [one for one in like if one.row.system != place[0]]
        widths[place] = _half(others or like)
    return [one._replace(interval=widths[_place(one)]) for one in some]


def _half(some: Sequence[Judged]) -> float:
    """Return half of the interval of rows without those at which connections were made.

    Times of few sites tell less than as many of many: it grows by one part in their number.
    """
    groups = grouped(one.row for one in some)
    warm = {row for group in groups.values() for row in _warm(group)}
    off = [one.residual for one in some if one.row in warm]
    few = len(groups) if groups and next(iter(groups))[2] == "nodes" else inf
    return half_width(off) * (1.0 + 1.0 / few)


def _warm(group: Sequence[Row]) -> list[Row]:
    return [row for row, counts in zip(group, measured(group).weights(), strict=True) if counts]


def _place(one: Judged) -> tuple[str, str, int]:
    return one.row.system, one.row.where, _width(one.row.size)


def _width(size: int) -> int:
    return next(at for at, most in enumerate(WIDTHS) if size <= most)


def _judged(known: Mapping[Key, Sequence[Term]], some: Iterable[Row]) -> list[Judged]:
    return [
        one
        for key, group in grouped(some).items()
        if key in known
        for one in _rated(group, ratios(known[key], group))
    ]


def _rated(some: Sequence[Row], of: Iterable[float]) -> list[Judged]:
    return [Judged(row, float(ratio)) for row, ratio in zip(some, of, strict=True)]


def _figures(what: str, some: Sequence[Judged]) -> list[Figure]:
    """Return the figure of all rows, and one for each system."""
    systems = dict.fromkeys(one.row.system for one in some)
    groups = [("all", some)] if len(systems) > 1 else []
    groups += [(name, [one for one in some if one.row.system == name]) for name in systems]
    return [_figure(what, name, group) for name, group in groups]


def _figure(what: str, name: str, some: Sequence[Judged]) -> Figure:
    whole = errors([one.ratio for one in some])
    by_band = []
    for band in range(len(BANDS)):
        of = [one.ratio for one in some if one.band == band]
        by_band.append(errors(of).mean if of else -1.0)
    covered = sum(one.holds for one in some) / len(some)
    return Figure(what, name, len(some), whole.median, whole.mean, covered, tuple(by_band))


def _key(row: Row) -> Key:
    return row.system, row.collective, row.where


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if is_whole(part))


def intervals_text(judged: Mapping[str, Sequence[Judged]], has_all: bool = True) -> str:
    """Return the file of half-widths that runs have; without rows of `UNSHIPPED` those over nodes
    stay.
    """
    known = selection.intervals()
    lines = [
        "# Halves of 90 % intervals of the time of a collective, as logarithms: of what is left",
        "# out in yantra.accuracy.collectives, in a node or over nodes; made by it with --write.",
        "what,from_bytes,interval,residuals",
    ]
    starts = (0, *(most + 1 for most in WIDTHS[:-1]))
    for what, some in judged.items():
        for where, name in (("node", what), ("nodes", f"{what}_over_nodes")):
            for at, start in enumerate(starts):
                of = [one for one in some if one.row.where == where and _width(one.row.size) == at]
                width = _half(of) if has_all or where == "node" else known[name][at][1]
                lines.append(f"{name},{start},{width:.4f},{len(of)}")
    return "\n".join(lines) + "\n"


def fits_text(some: Sequence[Row], judged: Mapping[str, Sequence[Judged]]) -> str:
    """Return the file of fits that runs have."""
    groups = grouped(some)
    fits = all_fits(some)
    widths = {
        where: half_width([one.residual for one in judged["sizes"] if one.row.where == where])
        for where in ("node", "nodes")
    }
    made: dict[Key, Fit] = {}
    for key, group in groups.items():
        most = max(group, key=lambda row: row.ranks)
        off = errors([float(one) for one in ratios(fits[key], group)])
        local = most.ranks // most.nodes
        fit = Fit(fits[key], most.ranks, off.mean, local, len(group), widths[key[2]])
        made[key] = fit
        if key[2] == "node" and (key[0], "all_gather", "node") not in groups:
            made |= {(key[0], kind, "node"): _as(kind, fit) for kind in FACTORS}
    systems = {key[0] for key in made}
    made |= {key: fit for key, fit in selection.fits().items() if key[0] not in systems}
    lines = [*_FITS_HEAD, ",".join(("system", *HEAD))]
    for key in sorted(made, key=lambda key: (key[2] == "nodes", key)):
        lines += [f"{key[0]},{line}" for line in made[key].lines(*key[1:])]
    return "\n".join(lines) + "\n"


def _as(kind: str, fit: Fit) -> Fit:
    """Return the fit of an all-reduce as that of a kind that nobody measured in this node."""
    if kind != "all_to_all":
        return fit
    return fit._replace(terms=tuple(one._replace(algorithm="Sends") for one in fit.terms))


_FITS_HEAD = (
    "# The terms of yantra.collectives.terms by system, collective and where its ranks are (in a",
    "# node, or over nodes); errors are those of the fit, intervals of sizes left out. Fitted to",
    "# half precision: node: tables of AIConfigurator (Apache-2.0), NCCL 2.23 to 2.29; a100-ndv4:",
    "# nccl-tests logs of Echo (MIT), 8 x A100 per Azure NDv4 node; a100-p4de: nccl-tests of AWS",
    "# p4de.24xlarge with EFA (MIT-0); mi300x, mi355x: all-reduces of rccl-tests (RCCL 2.22, 2.26;",
    "# hisohara/ai-scripts at 7b8b1ec), in a node as other kinds, too. See NOTICE. Made by",
    "# yantra.accuracy.collectives --write.",
)


def recorded() -> list[Figure]:
    """Return the figures of the last recorded run."""
    found = []
    for line in csv.DictReader(read_text(RECORD).splitlines()):
        median, mean, covered, *bands = (float(one) for one in list(line.values())[3:])
        what = line["what"], line["system"], int(line["rows"])
        found.append(Figure(*what, median, mean, covered, tuple(bands)))
    return found


def record_text(found: Iterable[Figure]) -> str:
    """Return the record of figures."""
    bands = ",".join(f"band{at}" for at in range(len(BANDS)))
    head = f"what,system,rows,median,mean,covered,{bands}"
    return "\n".join([head, *(one.line() for one in found)]) + "\n"


WORDS = {
    "sizes": "every third size left out",
    "ranks": "other numbers of ranks",
    "site_with_8": "another site, 8 times of its own",
    "site": "another site, nothing of its own",
}


def table(found: Iterable[Figure]) -> list[str]:
    """Return the figures as lines of Markdown."""
    lines = [
        "| judged | system | times | median | mean | <= 16 KiB | <= 256 KiB | <= 4 MiB | <= 64 MiB "
        "| above | in 90 % |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    last = []
    for one in found:
        if one.what not in WORDS:
            right = round((1.0 - one.mean) * one.rows)
            last = [
                "",
                f"* Whether the switches add (NVLS) is right for {right} of {one.rows} "
                "all-reduces of 256 MiB in a node.",
            ]
            continue
        bands = ["-" if band < 0 else f"{band:.1%}" for band in one.bands]
        cells = [WORDS[one.what], one.system, str(one.rows), f"{one.median:.1%}", f"{one.mean:.1%}"]
        lines.append(f"| {' | '.join([*cells, *bands, f'{one.covered:.0%}'])} |")
    return lines + last


def against(some: Sequence[Row]) -> list[Figure]:
    """Return how far the fits that runs use are from other rows of the same systems.

    Raises ConfigError where no fit is of a system among them.
    """
    known = selection.fits()
    found = []
    for key, group in grouped(some).items():
        if key not in known:
            have = ", ".join(dict.fromkeys(f"{system} {kind}" for system, kind, _ in known))
            raise ConfigError("--rows", f"no fit of {' '.join(key)}; there are {have}")
        fit = known[key]
        most = fit.most_ranks if key[2] == "node" else None
        rated = _rated(group, ratios(fit.terms, group, most))
        found += [one._replace(interval=fit.interval) for one in rated]
    return _figures("given", found)


def main(arguments: Sequence[str]) -> int:
    """Judge, and print; with --write record the figures, and write what runs use."""
    if "--rows" in arguments:
        path = arguments[arguments.index("--rows") + 1]
        sys.stdout.write(record_text(against(read_rows(path))))
        return 0
    given = rows()
    more: tuple[Row, ...] = ()
    if "--more" in arguments:
        more = read_rows(arguments[arguments.index("--more") + 1])
    judged = judgements([*given, *more])
    found = figures(given, judged, {row.system for row in more})
    given = (*given, *more)
    if "--write" in arguments:
        write_text(selection.FILE, fits_text(given, judged))
        write_text(selection.INTERVALS, intervals_text(judged, bool(more)))
        write_text(RECORD, record_text(found))
    sys.stdout.write("\n".join(table(found)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
