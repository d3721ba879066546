"""The texts of columns, as the core's writer of CSV and JSON takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from yantra import _core
from yantra.base.output import HALVES


class Texts:
    """Hands columns' texts to a writer of the core, each once; lists of texts may grow."""

    def __init__(
        self, writer: _core.TableWriter, written: Callable[[str], str] | None = None
    ) -> None:
        """`written` gives what is written for a text, if not the text itself."""
        self._writer = writer
        self._written = written
        self._known: dict[int, tuple[Sequence[str], int, int]] = {}

    def __call__(self, texts: Sequence[str]) -> int:
        if id(texts) not in self._known:
            self._known[id(texts)] = texts, self._writer.new_texts(), 0
        _, number, count = self._known[id(texts)]
        if count < len(texts):
            self._writer.add_texts(number, [self._one(text) for text in texts[count:]])
            self._known[id(texts)] = texts, number, len(texts)
        return number

    def _one(self, text: str) -> str:
        whole = text.encode(errors=HALVES).decode()  # as in all written text
        return self._written(whole) if self._written else whole
