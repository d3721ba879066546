"""Parts of a whole, in whole picoseconds and in percentages that add up; and how texts look.

Shown percentages are rounded so that they add up to 100.0 (the method of the largest remainder,
of Hamilton): each is rounded down, and the tenths that lack go to the largest remainders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from yantra.base.text import Grid, as_text
from yantra.result.path import ns_of, ps_of

_STEPS = 1000  # tenths of a per cent

PART_TEXTS: Mapping[str, str] = {
    "compute": "kernels",
    "exposed_communication": "exposed communication",
    "exposed_memory": "exposed remote memory",
    "exposed_host": "exposed host work",
    "waiting": "waiting for other ranks",
    "idle": "nothing",
    "finished": "idle at the end",
}
"""How texts call the parts of a rank's time."""


def listed(texts: Sequence[str]) -> str:
    """Return `a, b and c`."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def total(parts: Mapping[str, float]) -> float:
    """Return the sum of parts in ns, exactly."""
    return ns_of(sum(ps_of(part) for part in parts.values()))


def merged(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the sums of several mappings, the largest first."""
    sums: dict[str, int] = {}
    for part in parts:
        for key, ns in part.items():
            sums[key] = sums.get(key, 0) + ps_of(ns)
    ordered = sorted(sums.items(), key=lambda item: -item[1])
    return {key: ns_of(ps) for key, ps in ordered}


def tenths(parts: Sequence[float]) -> list[int]:
    """Return the shares of parts in tenths of a per cent, which add up to 1000; of nothing, 0s."""
    whole = sum(ps_of(part) for part in parts)
    if whole <= 0:
        return [0] * len(parts)
    exact = [ps_of(part) * _STEPS for part in parts]
    floors = [value // whole for value in exact]
    by_remainder = sorted(range(len(parts)), key=lambda at: -(exact[at] % whole))
    for at in by_remainder[: _STEPS - sum(floors)]:
        floors[at] += 1
    return floors


def block(title: str, grid: Grid) -> str:
    """Return a table under its title."""
    lines = as_text(grid).splitlines()
    return "\n".join([title, *(line.rstrip() for line in lines)])


def percent(tenth: int) -> str:
    """Write tenths of a per cent: `12.3 %`."""
    return f"{tenth / 10:.1f} %"
