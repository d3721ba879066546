"""Collectives that were measured on the very machine: the file that `yantra calibrate` writes.

A line is a term of `yantra.collectives.terms`, its fit's basis, mean error, and half of the 90 %
interval as a logarithm. A cluster's file has such lines under `collectives.fits`, and is read too.
"""

from __future__ import annotations

from functools import cache
from math import isfinite
from typing import NamedTuple

from yantra.base.documents import Path, parse_yaml, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.fields import Section, Text
from yantra.base.records import Record
from yantra.collectives.nccl.constants import PROTOCOLS
from yantra.collectives.terms import ALGORITHMS, FACTORS, Term

HEAD = (
    "collective", "where", "local", "most_ranks", "points", *Term._fields, "mean_error", "interval",
)  # fmt: skip
_WHERE = ("node", "nodes")
_NAMED = {
    "collective": tuple(FACTORS), "where": _WHERE, "algorithm": ALGORITHMS, "protocol": PROTOCOLS,
}  # fmt: skip
_MOST = 1e15
_MOST_OFF = 10.0


class Fit(NamedTuple):
    """The terms of one collective in a node or over nodes, and what they rest on.

    `local`: ranks of a node; `most_ranks`: the most measured; `interval`: half of the 90 % one, as
    a logarithm.
    """

    terms: tuple[Term, ...]
    most_ranks: int
    mean_error: float
    local: int = 8
    points: int = 0
    interval: float = 0.0

    def lines(self, collective: str, where: str) -> list[str]:
        rests = f"{collective},{where},{self.local},{self.most_ranks},{self.points}"
        off = f"{self.mean_error:.4f},{self.interval:.4f}"
        return [
            f"{rests},{one.algorithm},{one.protocol},"
            + ",".join(f"{number:.5g}" for number in one[2:])
            + f",{off}"
            for one in self.terms
        ]


Fits = dict[tuple[str, str], Fit]


class Own(Record):
    title: str
    cluster: str
    source: str
    collectives: str


OF_STACK = ("based_on", "kernels", "device")
"""The other keys of a file that is also a stack."""
FILE = Section(
    Own,
    {
        "title": ("title", Text(), "what was measured"),
        "cluster": ("cluster", Text(), "what the machine is called"),
        "source": ("source", Text(), "where the numbers are from"),
        "collectives": ("collectives", Text(), "a line for each term"),
    },
)


def load(path: Path) -> tuple[str, Fits]:
    """The machine's name, and its fits. Raises ConfigError with the line."""
    return _parsed(read_text(path), str(path))


@cache
def _parsed(text: str, path: str) -> tuple[str, Fits]:
    tree = parse_yaml(text, path)
    if not isinstance(tree, dict):
        raise ConfigError(
            path, expected_got("a mapping of title, cluster, source, collectives", tree)
        )
    if "network" in tree:
        return _of_cluster(tree, path)
    try:
        own = FILE.read({key: tree[key] for key in tree if key not in OF_STACK}, "", "")
    except ConfigError as error:
        raise (error if error.where == path else ConfigError(path, str(error))) from None
    assert isinstance(own, Own)
    return own.cluster, fits_of(own.collectives, f"{path}: collectives")


def _of_cluster(tree: dict[str, object], path: str) -> tuple[str, Fits]:
    collectives = tree.get("collectives")
    lines = collectives.get("fits") if isinstance(collectives, dict) else None
    if not isinstance(lines, str):
        problem = "a cluster without measured collectives; expected lines under collectives.fits"
        raise ConfigError(path, problem)
    name = path.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
    return name, fits_of(lines, f"{path}: collectives.fits")


def fits_of(text: str, where: str) -> Fits:
    """The fits by collective and `node` or `nodes`. Raises ConfigError at a line."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines or tuple(one.strip() for one in lines[0].split(",")) != HEAD:
        got = lines[0] if lines else "nothing"
        problem = expected_got(f"the columns {','.join(HEAD)}", got)
        raise ConfigError(f"{where} line 1", f"{problem}; make the file with yantra calibrate")
    found: Fits = {}
    for at, line in enumerate(lines[1:], 2):
        key, fit = _fit(line, f"{where} line {at}")
        known = found.get(key)
        if known is not None and known._replace(terms=()) != fit._replace(terms=()):
            problem = "what a fit rests on differs from the line before of the same collective"
            raise ConfigError(f"{where} line {at}", problem)
        found[key] = fit if known is None else known._replace(terms=known.terms + fit.terms)
    if not found:
        raise ConfigError(where, "expected at least one line below the columns")
    return found


def _fit(line: str, where: str) -> tuple[tuple[str, str], Fit]:
    words = [one.strip() for one in line.split(",")]
    if len(words) != len(HEAD):
        raise ConfigError(where, f"expected {len(HEAD)} columns, got {len(words)}")
    row = dict(zip(HEAD, words, strict=True))
    for name, known in _NAMED.items():
        if row[name] not in known:
            problem = expected_got(f"one of {', '.join(known)}", row[name])
            raise ConfigError(where, f"{name}: {problem}{did_you_mean(row[name], known)}")
    numbers = {name: _number(row[name], name, where) for name in HEAD if name not in _NAMED}
    term = Term(row["algorithm"], row["protocol"], *(numbers[one] for one in Term._fields[2:]))
    fit = Fit(
        (term,),
        int(numbers["most_ranks"]),
        numbers["mean_error"],
        int(numbers["local"]),
        int(numbers["points"]),
        numbers["interval"],
    )
    return (row["collective"], row["where"]), fit


def _number(text: str, name: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    is_whole = name in ("local", "most_ranks", "points")
    least = 1.0 if is_whole or name == "bytes_per_us" else 0.0
    most = _MOST_OFF if name in ("mean_error", "interval") else _MOST
    if not least <= value < most or not isfinite(value) or (is_whole and value % 1):
        what = "a whole number" if is_whole else "a number"
        raise ConfigError(where, f"{name}: {expected_got(f'{what} from {least:g}', text)}")
    return value
