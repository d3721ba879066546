"""Parts of a whole, in whole picoseconds; and how texts look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from yantra.base.text import Grid, as_text
from yantra.result.path import ns_of, ps_of


def listed(texts: Sequence[str]) -> str:
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def total(parts: Mapping[str, float]) -> float:
    """The exact sum of parts in ns."""
    return ns_of(sum(ps_of(part) for part in parts.values()))


def merged(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    sums: dict[str, int] = {}
    for part in parts:
        for key, ns in part.items():
            sums[key] = sums.get(key, 0) + ps_of(ns)
    ordered = sorted(sums.items(), key=lambda item: -item[1])
    return {key: ns_of(ps) for key, ps in ordered}


def block(title: str, grid: Grid) -> str:
    lines = as_text(grid).splitlines()
    return "\n".join([title, *(line.rstrip() for line in lines)])
