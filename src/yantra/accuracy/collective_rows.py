"""Measured collectives, and the terms that fit them.

`rows/collectives.csv` has one-node tables and logs of nccl-tests that others published; its head
and NOTICE name sources and licences. Of each system, collective and place (a node, or nodes) the
terms of `yantra.collectives.terms` are fitted to all sizes, ranks and versions of NCCL at once.

Trade-off: versions of NCCL differ by a few percent, in places by twice; terms are of none of them.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from os import path as paths
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.collectives.fit import Measured, fitted, width_of
from yantra.collectives.terms import FACTORS, USUAL_LOCAL, Points, Term, taken, usual

ROWS = paths.join(paths.dirname(__file__), "rows", "collectives.csv")
HEAD = ("system", "collective", "nccl", "ranks", "nodes", "bytes", "us")

WITHOUT_NVLS = ("a100", "mi300x", "mi325x", "mi355x")
"""Systems whose switches cannot add (NVLink SHARP is of Hopper and later), or without switches."""

SWITCHES_OF = {"gb200": "b200", "gb300": "b200"}
"""Systems with too few measured ranks for NVLS to be taken, and those with the same switches."""

LEAST_OF_NVLS = 5
"""Ranks of a node from which NVLS is faster than a ring: (1 + 1 / n) S on each link, where a ring
has 2 S (n - 1) / n, at the share of a link that it reaches."""


class Row(NamedTuple):
    """A collective of `size` bytes, and the microseconds that it was measured to take."""

    system: str
    collective: str
    nccl: str
    ranks: int
    nodes: int
    size: int
    us: float

    @property
    def where(self) -> str:
        """Return `node` where all ranks are on one, else `nodes`."""
        return "node" if self.nodes == 1 else "nodes"


Key = tuple[str, str, str]


@cache
def rows() -> tuple[Row, ...]:
    """Return the measured collectives of the repository."""
    return read_rows(ROWS)


def read_rows(path: Path) -> tuple[Row, ...]:
    """Return the rows of a file with the columns of `HEAD`. Raises ConfigError with the line."""
    lines = [line for line in read_text(path).splitlines() if not line.startswith("#")]
    found = []
    for at, line in enumerate(csv.DictReader(lines), 2):
        where = f"{path}: row {at}"
        if tuple(line) != HEAD:
            raise ConfigError(str(path), expected_got(f"the columns {','.join(HEAD)}", lines[0]))
        if line["collective"] not in FACTORS:
            known = ", ".join(FACTORS)
            problem = expected_got(f"one of {known}", line["collective"])
            raise ConfigError(where, f"collective: {problem}")
        try:
            ranks, nodes, size = (int(line[name]) for name in ("ranks", "nodes", "bytes"))
            us = float(line["us"])
        except (TypeError, ValueError):
            problem = "expected whole numbers of ranks, nodes and bytes, and microseconds"
            raise ConfigError(where, problem) from None
        if not (1 <= nodes < ranks and ranks % nodes == 0 and size > 0 and 0 < us < 1e12):
            problem = "expected as many ranks on each node, bytes and microseconds above 0"
            raise ConfigError(where, problem)
        found.append(Row(line["system"], line["collective"], line["nccl"], ranks, nodes, size, us))
    if not found:
        raise ConfigError(str(path), f"expected rows below the columns {','.join(HEAD)}")
    return tuple(found)


def grouped(some: Iterable[Row]) -> dict[Key, list[Row]]:
    """Return rows by system, collective and place."""
    found: dict[Key, list[Row]] = defaultdict(list)
    for row in some:
        found[row.system, row.collective, row.where].append(row)
    return dict(found)


def measured(some: Sequence[Row]) -> Measured:
    """Return rows of one collective and place as columns."""
    ranks, nodes, size, us = np.array(
        [(row.ranks, row.nodes, row.size, row.us) for row in some], dtype=float
    ).T
    most = max((row.ranks for row in some if row.nodes == 1), default=USUAL_LOCAL)
    return Measured(Points(some[0].collective, ranks, nodes, size, most), us)


def fit_rows(
    some: Sequence[Row], prior: Sequence[Term], *, alike: bool = False
) -> tuple[Term, ...]:
    """Return the terms of rows of a collective and place; `alike`: `prior` is a like machine's."""
    return tuple(fitted(prior, [measured(some)], width_of(some[0].where, alike)))


def ratios(
    terms: Sequence[Term], some: Sequence[Row], most: int | None = None
) -> NDArray[np.float64]:
    """Return ours as multiples of the measured times; `most` are the ranks of a fit in a node."""
    of = measured(some)
    at = of.at if most is None else of.at._replace(most=most)
    return np.asarray(taken(terms, at)[0] / of.us)


def all_fits(some: Iterable[Row]) -> dict[Key, tuple[Term, ...]]:
    """Return the terms of every system, collective and place among rows."""
    groups = grouped(some)
    found: dict[Key, tuple[Term, ...]] = {}
    for key in sorted(groups, key=lambda key: (key[0] in SWITCHES_OF, key)):
        found[key] = fit_rows(groups[key], prior_of(key, groups[key])) + switches_of(key, found)
    return found


def prior_of(key: Key, some: Sequence[Row]) -> tuple[Term, ...]:
    """Return what the terms of rows are drawn to: those of a usual machine.

    With switches that add where enough ranks of a node were measured to tell them from a ring.
    """
    system, kind, where = key
    adds = system not in WITHOUT_NVLS and max(row.ranks for row in some) >= LEAST_OF_NVLS
    return usual(kind, where == "nodes", adds)


def switches_of(key: Key, known: Mapping[Key, Sequence[Term]]) -> tuple[Term, ...]:
    """Return the term of switches that add, of the system whose switches a system has."""
    like = known.get((SWITCHES_OF.get(key[0], ""), *key[1:]), ())
    return tuple(one for one in like if one.algorithm == "NVLS")
