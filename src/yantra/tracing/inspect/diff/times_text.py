"""The priced difference of two recordings as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from yantra.base.text import count, shortened, table
from yantra.base.units import format_time
from yantra.tracing.inspect.diff.times import Alone, Times

_WIDEST = 60
_REST = "(no operator)"


def text(of: Times, names: tuple[str, str], limit: int) -> str:
    """The answer in words, `limit` rows a table."""
    a, b = map(format_time, of.window_ns)
    more = "more" if of.difference_ns >= 0 else "less"
    share = f" ({100 * abs(of.difference_ns) / of.window_ns[0]:.1f} %)" if of.window_ns[0] else ""
    lines = [
        f"{names[0]}: {a}; {names[1]}: {b}, {format_time(abs(of.difference_ns))}{share} {more}",
        "",
        *table(("operator", "calls", "first", "second", "second - first"), _rows(of, limit)),
    ]
    for name, some in zip(names, of.alone, strict=True):
        if some:
            total = format_time(sum(one.ns for one in some))
            calls = count(sum(one.calls for one in some), "operator")
            lines += ["", f"only in {name}: {calls}, {total}"]
            lines += [f"  {_named(one.path)} x {one.calls}: {format_time(one.ns)}"
                      for one in some[:limit]]  # fmt: skip
            lines += [f"  ... and {len(some) - limit} more"] * (len(some) > limit)
    return "\n".join(lines) + "\n"


def as_dict(of: Times, names: tuple[str, str], limit: int | None) -> dict[str, Any]:
    """The answer for JSON."""
    return {
        "files": list(names),
        "window_ns": list(of.window_ns),
        "difference_ns": of.difference_ns,
        "operators": [
            {"path": list(row.path), "calls": row.calls, "ns": list(row.ns)}
            | {"device_ns": list(row.device_ns), "difference_ns": row.difference_ns}
            for row in of.rows[:limit]
        ],
        "alone": [
            [{"path": list(one.path), "calls": one.calls, "ns": one.ns} for one in some[:limit]]
            for some in of.alone
        ],
        "other": {name: list(pair) for name, pair in of.other.items()},
    }


def _rows(of: Times, limit: int) -> list[tuple[str, ...]]:
    shown = [row for row in of.rows if any(row.ns)]
    rows = [(_named(row.path), str(row.calls), *_times(*row.ns)) for row in shown[:limit]]
    rest = shown[limit:]
    if rest:
        pair = sum(row.ns[0] for row in rest), sum(row.ns[1] for row in rest)
        calls = str(sum(row.calls for row in rest))
        rows.append((f"({count(len(rest), 'more path')})", calls, *_times(*pair)))
    rows += [
        (f"only in the {place}", str(sum(one.calls for one in some)), *_times(*pair))
        for place, some, pair in _alone(of.alone)
        if some
    ]
    rows += [(name, "", *_times(*pair)) for name, pair in of.other.items() if any(pair)]
    return [*rows, ("all", "", *_times(*of.window_ns))]


def _alone(
    both: tuple[Sequence[Alone], Sequence[Alone]],
) -> Iterator[tuple[str, Sequence[Alone], tuple[int, int]]]:
    first, second = both
    yield "first", first, (sum(one.ns for one in first), 0)
    yield "second", second, (0, sum(one.ns for one in second))


def _times(a: int, b: int) -> tuple[str, str, str]:
    sign = "+" if b > a else "-" if b < a else ""
    return format_time(a), format_time(b), f"{sign}{format_time(abs(b - a))}"


def _named(path: tuple[str, ...]) -> str:
    if not path:
        return _REST
    return shortened(" > ".join(path[-2:]), _WIDEST)
