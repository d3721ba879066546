"""Text of files that is safe in a terminal and a spreadsheet.

Source: ECMA-48 for control characters; Unicode Standard Annex 9 for direction;
https://owasp.org/www-community/attacks/CSV_Injection for cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEPT = "\n\t"
_CONTROLS, _HALVES = (0x7F, 0x9F), (0xD800, 0xDFFF)
_TURN_TEXT = ((0x061C, 0x061C), (0x200E, 0x200F), (0x202A, 0x202E), (0x2066, 0x2069))
_LINES = (0x2028, 0x2029)
_OBEYED = (_CONTROLS, _HALVES, *_TURN_TEXT, _LINES)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MARK = "'"


def printable(text: str) -> str:
    """Return a text with control characters escaped: `\x1b`, `\u009b`.

    Line breaks and tabs stay. Escapes above ASCII are JSON's own, so JSON stays JSON, and escaping
    twice changes nothing.
    """
    return text.translate(_escapes)


class _Escapes(dict[int, int | str]):
    def __missing__(self, code: int) -> int | str:
        shown: int | str = code
        if code < 0x20 and chr(code) not in _KEPT:
            shown = f"\\x{code:02x}"
        elif any(low <= code <= high for low, high in _OBEYED):
            shown = f"\\u{code:04x}"
        self[code] = shown
        return shown


_escapes = _Escapes()


class Printable:
    """A text stream that escapes control characters."""

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream  # rich writes control characters on purpose
        """The stream itself."""

    def write(self, text: str) -> int:
        self.rich_proxied_file.write(printable(text))
        return len(text)

    def writelines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.write(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self.rich_proxied_file, name)


def unwrapped(stream: TextIO) -> TextIO:
    """Return the stream itself, to which rich may write its control characters."""
    return getattr(stream, "rich_proxied_file", stream)


def cell(text: str) -> str:
    """Return a CSV cell that a spreadsheet does not run:

    a leading apostrophe marks text; `cell_text` removes it.
    """
    return _MARK + text if text.startswith(_FORMULA) else text


def cell_text(text: str) -> str:
    return text[1:] if text.startswith(_MARK) and text[1:].startswith(_FORMULA) else text
