"""What ran and its figures, in results' JSON; older ones have neither."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from yantra.base.text import Grid, format_bytes
from yantra.base.units import format_time
from yantra.result.figures import count_text, share_text

Row = dict[str, Any]


def _decimals(value: float) -> str:
    return f"{value:.4g}"


def _size(size_bytes: float) -> str:
    return f"{'-' if size_bytes < 0 else ''}{format_bytes(abs(round(size_bytes)))}"


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"


_TEXTS: dict[str, tuple[str, Callable[[Any], str], Callable[[Any], str] | None]] = {
    "step_time_ns": ("step time", format_time, None),
    "ttft_ns": ("time to first token", format_time, None),
    "tpot_ns": ("time per output token", format_time, None),
    "iteration_ns": ("time per iteration", format_time, None),
    "fill_drain_ns": ("fill and drain", format_time, None),
    "tokens_per_s": ("tokens/s", count_text, None),
    "tokens_per_s_per_device": ("tokens/s per device", count_text, None),
    "mfu": ("MFU", share_text, _points),
    "hfu": ("HFU", share_text, _points),
    "memory_need_bytes": ("memory needed", _size, _size),
    "memory_headroom_bytes": ("memory headroom", _size, _size),
    "kv_cache_use": ("KV cache used", share_text, _points),
    "bubble": ("pipeline bubble", share_text, _points),
    "cost_usd": ("cost (USD)", _decimals, None),
    "usd_per_million_tokens": ("USD per million tokens", _decimals, None),
    "energy_kwh": ("energy (kWh)", _decimals, None),
    "joules_per_token": ("J per token", _decimals, None),
    "kwh_per_million_tokens": ("kWh per million tokens", _decimals, None),
}
"""A figure's name, text, and text of its change; in per cent where None."""


def ran_text(form: Mapping[str, Any]) -> str:
    ran = form.get("what_ran")
    return str(ran.get("text", "")) if isinstance(ran, dict) else ""


def figure_rows(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Row]:
    sides = [form.get("figures") or {} for form in (a, b)]
    rows = []
    for name in _TEXTS:
        first, second = (side.get(name) for side in sides)
        change = None if first is None or second is None else second - first
        if (first, second) != (None, None):
            rows.append({"figure": name, "a": first, "b": second, "change": change})
    return rows


def figure_cells(pairs: Sequence[Sequence[Row]]) -> list[list[str]]:
    """Rows of the table of figures: name, first, then each other and its change.

    `pairs`: `figure_rows` for the first result and each other.
    """
    found: dict[str, list[Row | None]] = {}
    for at, rows in enumerate(pairs):
        for row in rows:
            found.setdefault(row["figure"], [None] * len(pairs))[at] = row
    ordered = [(name, found[name]) for name in _TEXTS if name in found]
    return [[_TEXTS[name][0], *_cells(name, rows)] for name, rows in ordered]


def _cells(name: str, rows: Sequence[Row | None]) -> Iterator[str]:
    def shown(value: Any) -> str:
        return "-" if value is None else _TEXTS[name][1](value)

    yield shown(next(row["a"] for row in rows if row is not None))
    for row in rows:
        yield from ("-", "-") if row is None else (shown(row["b"]), _change(row))


def _change(row: Row) -> str:
    change, written = row["change"], _TEXTS[row["figure"]][2]
    if change is None or (written is None and not row["a"]):
        return "-"
    return f"{100 * change / row['a']:+.1f} %" if written is None else _signed(written, change)


def _signed(written: Callable[[Any], str], change: float) -> str:
    text = written(abs(change))
    return text if text.startswith(("0 ", "0.0 ")) else f"{'-' if change < 0 else '+'}{text}"


def figure_grid(rows: list[Row]) -> Grid:
    return Grid(("figure", "first", "second", "change"), [tuple(r) for r in figure_cells([rows])])
