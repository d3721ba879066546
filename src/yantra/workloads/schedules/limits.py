"""What several schedules need, with the nearest possible numbers."""

from __future__ import annotations


def counted(number: int, one: str) -> str:
    """`1 device`, `2 devices`, `2 micro-batches`."""
    ending = "" if number == 1 else "es" if one.endswith("ch") else "s"
    return f"{number} {one}{ending}"


def enough_microbatches(p: int, m: int, *, even: bool = False) -> str | None:
    if m < 2 * p:
        fewer = f", or {counted(m // 2, 'device')}" if m >= 2 and not even else ""
        needed = f"needs at least 2 micro-batches per device ({2 * p}), got {m}"
        return f"{needed}; the nearest is {2 * p}{fewer}"
    if even and m % 2:
        nearest = f"are {m - 1} and {m + 1}" if m > 2 * p else f"is {m + 1}"
        return f"needs an even number of micro-batches, got {m}; the nearest {nearest}"
    return None
