"""Tables of plain text, numbers aligned right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from yantra.base.printable import printable

_GAP = "  "
_NO_BREAK = "\N{NO-BREAK SPACE}"


class Grid(NamedTuple):
    """A table of texts; all but the first column are numbers."""

    head: tuple[str, ...]
    rows: list[tuple[str, ...]]


def as_text(grid: Grid) -> str:
    return "\n".join(table(grid.head, grid.rows))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    head, rows = _shown(head), [_shown(row) for row in rows]
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    return [
        _GAP.join(
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *rows)
    ]


def _shown(row: Sequence[str]) -> Sequence[str]:
    return row if "".join(row).isprintable() else [printable(cell) for cell in row]


def filled(text: str, width: int = 80) -> str:
    """Return a text in lines up to `width`; a number keeps its unit."""
    import re
    from textwrap import wrap

    bound = re.sub(r"(?<=\d) (?=(?:ns|us|ms|s)\b|%)", _NO_BREAK, text)
    return "\n".join(wrap(bound, width)).replace(_NO_BREAK, " ")


def count(number: int, noun: str, nouns: str = "", *, commas: bool = False) -> str:
    """Return `1 node`, `2 nodes`; `nouns` is an irregular plural, `commas` part thousands."""
    said = f"{number:,}" if commas else f"{number}"
    return f"{said} {noun if number == 1 else nouns or f'{noun}s'}"


def rank_list(ranks: Sequence[int], most: int = 6) -> str:
    """Return `0-7`, `0, 2, 4`, or the first ones and the number."""
    if len(ranks) > 2 and ranks == tuple(range(ranks[0], ranks[0] + len(ranks))):
        return f"{ranks[0]}-{ranks[-1]}"
    shown = ", ".join(map(str, ranks[:most]))
    return shown if len(ranks) <= most else f"{shown}, ... ({len(ranks)} ranks)"


def shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def format_bytes(size_bytes: int) -> str:
    """Return a size to compare: binary units, up to two decimals."""
    for power, prefix in (
        (60, "EiB"),
        (50, "PiB"),
        (40, "TiB"),
        (30, "GiB"),
        (20, "MiB"),
        (10, "KiB"),
    ):
        if size_bytes >= 1 << power:
            return f"{round(size_bytes / (1 << power), 2):g} {prefix}"
    return f"{size_bytes} B"


def room_text(capacity: int, reserve: int) -> str:
    kept = f" less {format_bytes(reserve)} reserved" if reserve else ""
    return format_bytes(capacity) + kept


def article(noun: str) -> str:
    return "an" if noun[:1].lower() in ("a", "e", "i", "o") else "a"
