"""The texts of columns, as the core's writer of CSV and JSON takes them."""

from __future__ import annotations

from collections.abc import Sequence

from yantra import _core


class Texts:
    """Hands the texts of columns to a writer of the core, each once; lists of texts may grow."""

    def __init__(self, writer: _core.TableWriter) -> None:
        self._writer = writer
        self._known: dict[int, tuple[Sequence[str], int, int]] = {}

    def __call__(self, texts: Sequence[str]) -> int:
        """Return the number under which the writer knows a list of texts."""
        if id(texts) not in self._known:
            self._known[id(texts)] = texts, self._writer.new_texts(), 0
        _, number, count = self._known[id(texts)]
        if count < len(texts):
            self._writer.add_texts(number, texts[count:])
            self._known[id(texts)] = texts, number, len(texts)
        return number
