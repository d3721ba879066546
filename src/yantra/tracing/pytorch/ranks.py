"""The rank of a trace, where only its name says it.

A name's rank: the number after `rank`, else the one that differs between names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from yantra.base.errors import TraceError
from yantra.tracing.pytorch.link.pairs import RANK, by_rank

_WORD = re.compile(r"(?<![a-z])rank[-_.=]?(\d{1,7})(?!\d)", re.IGNORECASE)
_NUMBER = re.compile(r"(\d+)")
_SPARSE = 16  # no rank if this many times the number of files


class Given(NamedTuple):
    """A trace, and the rank its name gives if it states none."""

    path: str
    rank: int | None


def given(arguments: Sequence[str]) -> list[Given]:
    found: list[Given] = []
    plain: list[str] = []
    for argument in arguments:
        if RANK in argument and not os.path.exists(argument):
            found += [Given(path, rank) for rank, path in sorted(by_rank(argument).items())]
        else:
            plain.append(argument)
    named = of_names(plain)
    ranks = [None] * len(plain) if named is None else named
    return found + [Given(*pair) for pair in zip(plain, ranks, strict=True)]


def of_names(names: Sequence[str]) -> list[int] | None:
    """Ranks from the names of several files, None if not clear.

    A single file is rank 0.
    """
    if len(names) < 2:
        return [0] * len(names)
    words = [{int(number) for number in _WORD.findall(name)} for name in names]
    if all(len(found) == 1 for found in words):
        ranks = [found.pop() for found in words]
        if len(set(ranks)) == len(ranks):
            return ranks
    columns = _columns(names)
    if columns is None:
        return None
    likely = [
        column
        for column in columns
        if len({*column}) == len(column) and max(column) < _SPARSE * len(column)
    ]
    dense = [column for column in likely if sorted(column) == list(range(len(column)))]
    different = {tuple(column) for column in dense or likely}
    return list(different.pop()) if len(different) == 1 else None


def in_order_given(paths: Sequence[str]) -> str:
    """What to say of traces ranked by place.

    Raises TraceError where numbers in names contradict their order.
    """
    names = list(paths)
    natural = sorted(names, key=_natural)
    if names != natural and names == sorted(names):
        at = next(
            at for at, pair in enumerate(zip(names, natural, strict=True)) if len({*pair}) > 1
        )
        raise TraceError(
            f"{len(names)} traces do not state their rank, nor do their names, and they are given "
            f"in the order of letters: {names[at]} is number {at}, by its numbers it would be "
            f"{natural[at]}; name them by rank, such as trace.rank0.json, or give them as a "
            f"pattern with {RANK}"
        )
    return (
        f"{len(names)} traces do not state their rank, nor do their names: they are taken as ranks "
        f"0 to {len(names) - 1} in the order given"
    )


def _columns(names: Sequence[str]) -> list[list[int]] | None:
    parts = [_NUMBER.split(name) for name in names]
    if len({tuple(part[::2]) for part in parts}) > 1:
        return None
    if any(len(number) > 18 for part in parts for number in part[1::2]):
        parts = [[text[:18] for text in part] for part in parts]
    return [
        [int(number) for number in column]
        for column in zip(*(part[1::2] for part in parts), strict=True)
        if len({*column}) > 1
    ]


def _natural(name: str) -> list[tuple[int, str]]:
    return [
        (int(part[:18]), part) if at % 2 else (0, part)
        for at, part in enumerate(_NUMBER.split(name))
    ]
