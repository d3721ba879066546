"""Integers in text, without signs or blanks."""

from __future__ import annotations

from yantra.base import bounds


def is_whole(text: str) -> bool:
    """Return whether a text is an integer from 0, of allowed length."""
    return len(text) <= bounds.DIGITS and text.isascii() and text.isdigit()


def whole(text: str) -> int | None:
    return int(text) if is_whole(text) else None
