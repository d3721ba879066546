"""The form of Yantra's own files: CSV with a header, or JSON with an object a line.

`prefix` says with whom the first `prefix_tokens` tokens are shared: a number or a name that other
rows have, too, or `rK`, the prompt and output of row K (from 0), which makes a later turn of a
conversation. `after` is the row that must have finished `delay_s` before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from yantra.serving.requests.forms.form import Columns, Form
from yantra.serving.requests.types import MOST_TOKENS, OWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.serving.requests.cells import Cells

_OF_A_ROW = re.compile(r"([ro])([0-9]{1,15})")
_NAMED = 2**60  # where the sources of prefixes begin that have a name

Spans = list[tuple[int, int]]


class Own(Form):
    """A row a request."""

    needs = {  # noqa: RUF012
        "arrival_ns": ("arrival_s",),
        "prompt": ("prompt",),
        "output": ("output",),
    }
    may = {  # noqa: RUF012
        name: (name.replace("_ns", "_s"),)
        for name in (
            "limit", "priority", "user", "adapter", "session", "after", "delay_ns", "prefix",
            "prefix_tokens",
        )
    }  # fmt: skip
    has_all = True

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__({**names, "span_source": "prefix", "span_end": "prefix_tokens"})
        self._rows = 0
        self._spans: list[Spans] = []  # of all rows so far
        self._lengths: list[int] = []  # prompt and output
        self._names: dict[str, int] = {}

    def block(self, cells: Cells) -> Columns:
        found = super().block(cells)
        if "after" in self.names:
            after = found["after"] = cells.whole("after", -1, 2**53, -1, "")
            late = after >= self._rows + np.arange(len(after))
            lonely = (found["arrival_ns"] < 0) & (after < 0)
            if late.any():
                row = int(np.argmax(late))
                raise cells.wrong(
                    row, "after", "an earlier row, the first being 0", int(after[row])
                )
            if lonely.any():
                row = int(np.argmax(lonely))
                raise cells.wrong(row, "arrival_s", "a time, or a row in 'after'", "")
            if "delay_ns" in self.names:
                delay = cells.times_ns(self.names["delay_ns"], self.unit_ns, 0)
                found["delay_ns"] = np.where(found["after"] < 0, 0, delay)
        self._rows += len(found["prompt"])
        if "prefix" not in self.names:
            return found
        begin = len(self._spans)
        lengths = zip(found["prompt"].tolist(), found["output"].tolist(), strict=True)
        tokens = cells.values("prefix_tokens") if "prefix_tokens" in self.names else None
        for row, (name, (prompt, output)) in enumerate(
            zip(cells.values("prefix"), lengths, strict=True)
        ):
            self._lengths.append(prompt + output)
            is_none = name is None or name in ("", [])
            until = None if tokens is None else tokens[row]
            self._spans.append([] if is_none else self._read(cells, row, name, until))
        mine = self._spans[begin:]
        flat = np.array([span for spans in mine for span in spans], np.int64).reshape(-1, 2)
        found["span_count"] = np.array(list(map(len, mine)), np.int64)
        found["span_source"], found["span_end"] = flat[:, 0], flat[:, 1]
        return found

    def _read(self, cells: Cells, row: int, name: Any, tokens: Any) -> Spans:
        words = name.split() if isinstance(name, str) else name
        words = words if isinstance(words, list) else [words]
        ends = tokens.split() if isinstance(tokens, str) else tokens
        ends = [ends] if isinstance(ends, int | float) else ends
        if not isinstance(ends, list) or len(ends) != len(words):
            wanted = f"tokens for each of {len(words)}" if len(words) > 1 else "tokens"
            raise cells.wrong(row, "prefix_tokens", f"{wanted} of 'prefix'", tokens)
        column = cells.of({"prefix_tokens": ends}, row)
        spans: Spans = []
        for word, end in zip(
            words, column.whole("prefix_tokens", 0, MOST_TOKENS).tolist(), strict=True
        ):
            spans += self._of(cells, row, word, end)
        return spans

    def _of(self, cells: Cells, row: int, word: Any, end: int) -> Spans:
        """Return the spans of a word."""
        match = _OF_A_ROW.fullmatch(word) if isinstance(word, str) else None
        if match is not None:
            other = int(match[2])
            if other >= len(self._spans):
                raise cells.wrong(row, "prefix", "an earlier row behind the letter", word)
            if match[1] == "o":
                return [(OWN + other, end)]
            if end > self._lengths[other]:
                most = f"at most the {self._lengths[other]} tokens of row {other}"
                raise cells.wrong(row, "prefix_tokens", most, end)
            whole: Spans = []
            for source, its_end in [*self._spans[other], (OWN + other, end)]:
                if (whole[-1][1] if whole else 0) < min(its_end, end):
                    whole.append((source, min(its_end, end)))
            return whole
        text = str(word)
        if not isinstance(word, int | str) or isinstance(word, bool):
            raise cells.wrong(row, "prefix", "a number or a name", word)
        if text.isascii() and text.isdecimal():
            if len(text) > 19 or int(text) >= OWN:
                raise cells.wrong(row, "prefix", "a number below 2^62", word)
            source = int(text)
        else:
            source = _NAMED + self._names.setdefault(text, len(self._names))
        return [(source, end)] if end else []

    def finish(self, columns: Columns) -> None:
        arrival = columns["arrival_ns"]
        columns["implied"] = arrival < 0
        for at in np.flatnonzero(arrival < 0).tolist():
            arrival[at] = arrival[columns["after"][at]]


PLUGIN = Own
