"""What a reader may take of a file, for every format: unpacked size, values, nesting, length of a
number or cell.

Trade-off: text that packs to less than a two-hundredth is refused as a bomb; the message says to
unpack it. Source: a deflated byte stands for at most 1032 (RFC 1951).
"""

from __future__ import annotations

PER_BYTE = 200
"""Bytes that a packed byte may stand for."""

ALWAYS = 64 << 20
"""Bytes that any packed file may unpack to."""

NUMBERS = 256 << 20
"""Bytes of numbers that a packed column of a result may hold: columns of one value pack best."""

ENTRIES = 100_000
"""Values that any text may stand for, aliases of YAML followed; beyond, one for each byte."""

DEPTH = 50
"""Lists and mappings inside each other, in files of people."""

DEPTH_OF_JSON = 200
"""The same in JSON, which programs write."""

DIGITS = 300
"""Of a whole number, as many as the largest float has."""

FIELD = 1 << 17
"""Characters of a cell of a table."""

WORTH_TELLING = 256 << 20
"""Bytes from which on a reader says how much it unpacks."""

SLOW_TEXT = 2_000_000
"""Characters of a text, read line by line or value by value, from which on a reader says how long.
"""


class Bounds:
    depth = DEPTH
    """Lists and mappings inside each other."""
    depth_of_json = DEPTH_OF_JSON
    """The same, in JSON."""
    digits = DIGITS
    """Digits of a whole number."""
    field = FIELD
    """Characters of a cell of a table."""

    def __init__(self, size: int) -> None:
        self.size = size
        """Bytes, or characters of a text."""
        self.unpacked = max(ALWAYS, PER_BYTE * size)
        """Bytes that it may unpack to."""
        self.numbers = max(NUMBERS, PER_BYTE * size)
        """Bytes that it may unpack to where it holds the numbers of a column."""
        self.entries = max(ENTRIES, size)
        """Values that it may stand for."""


def of(size: int) -> Bounds:
    return Bounds(size)
