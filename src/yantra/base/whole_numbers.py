"""Whole numbers in text: any number of digits that readers take, without signs or blanks."""

from __future__ import annotations

from yantra.base import bounds


def is_whole(text: str) -> bool:
    """Return whether a text is a whole number, 0 or more, of no more digits than one may have."""
    return len(text) <= bounds.DIGITS and text.isascii() and text.isdigit()


def whole(text: str) -> int | None:
    """Return the whole number, 0 or more, in a text; None where `is_whole` is false."""
    return int(text) if is_whole(text) else None
