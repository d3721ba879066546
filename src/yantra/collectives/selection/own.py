"""Collectives that were measured on the very machine: the file that `yantra calibrate` writes.

    title: Collectives measured on my-node
    cluster: my-node
    source: nccl.log
    collectives: |
      collective,where,local,most_ranks,points,a_ll,h_ll,b_ll,...,s,mean_error,p90_error
      all_reduce,node,8,8,30,2.04,4.47,1.3e+05,...

The numbers are those of `yantra.collectives.protocols`, as in `measured.csv`.
"""

from __future__ import annotations

from functools import cache
from math import isfinite
from typing import NamedTuple

from yantra.base.documents import Path, parse_yaml, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.fields import Section, Text
from yantra.base.records import Record
from yantra.collectives.protocols import FACTORS, Protocols

HEAD = (
    "collective", "where", "local", "most_ranks", "points", *Protocols._fields, "mean_error",
    "p90_error",
)  # fmt: skip
_WHERE = ("node", "nodes")
_MOST = 1e15


class Fit(NamedTuple):
    """Numbers of one collective, the most ranks that were measured, and how far off they are.

    `local` are the ranks of a node, where more than one node was measured.
    """

    protocols: Protocols
    most_ranks: int
    mean_error: float
    local: int = 8


class Own(Record):
    """A file of measured collectives: what the machine is called, and the fits as lines."""

    title: str
    cluster: str
    source: str
    collectives: str

    def fits(self, path: str) -> dict[tuple[str, str], Fit]:
        """Return the fits by collective and `node` or `nodes`. Raises ConfigError."""
        return _fits(self.collectives, path)


FILE = Section(
    Own,
    {
        "title": ("title", Text(), "what was measured"),
        "cluster": ("cluster", Text(), "what the machine is called"),
        "source": ("source", Text(), "where the numbers are from"),
        "collectives": ("collectives", Text(), "a line for each collective"),
    },
)


def load(path: Path) -> tuple[str, dict[tuple[str, str], Fit]]:
    """Return what the machine is called, and its fits. Raises ConfigError with the line."""
    name = str(path)
    return _parsed(read_text(path), name)


@cache
def _parsed(text: str, path: str) -> tuple[str, dict[tuple[str, str], Fit]]:
    tree = parse_yaml(text, path)
    if not isinstance(tree, dict):
        raise ConfigError(
            path, expected_got("a mapping of title, cluster, source, collectives", tree)
        )
    try:
        own = FILE.read(tree, "", "")
    except ConfigError as error:
        raise (error if error.where == path else ConfigError(path, str(error))) from None
    assert isinstance(own, Own)
    return own.cluster, own.fits(path)


def _fits(text: str, path: str) -> dict[tuple[str, str], Fit]:
    lines = [line for line in text.split("\n") if line.strip()]
    if tuple(one.strip() for one in lines[0].split(",")) != HEAD:
        where = f"{path}: collectives line 1"
        raise ConfigError(where, expected_got(f"the columns {','.join(HEAD)}", lines[0]))
    found = {}
    for at, line in enumerate(lines[1:], 2):
        where = f"{path}: collectives line {at}"
        words = [one.strip() for one in line.split(",")]
        if len(words) != len(HEAD):
            raise ConfigError(where, f"expected {len(HEAD)} columns, got {len(words)}")
        row = dict(zip(HEAD, words, strict=True))
        for name, known in (("collective", tuple(FACTORS)), ("where", _WHERE)):
            if row[name] not in known:
                problem = expected_got(f"one of {', '.join(known)}", row[name])
                raise ConfigError(where, f"{name}: {problem}{did_you_mean(row[name], known)}")
        numbers = {name: _number(row[name], name, where) for name in HEAD[2:]}
        protocols = Protocols(*(numbers[name] for name in Protocols._fields))
        found[row["collective"], row["where"]] = Fit(
            protocols, int(numbers["most_ranks"]), numbers["mean_error"], int(numbers["local"])
        )
    if not found:
        raise ConfigError(path, "collectives: expected at least one line below the columns")
    return found


def _number(text: str, name: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    least = 1.0 if name in ("local", "most_ranks", "points") or name.startswith("b_") else 0.0
    if not least <= value < _MOST or not isfinite(value):
        raise ConfigError(where, f"{name}: {expected_got(f'a number from {least:g}', text)}")
    return value
