"""Columns of numbers and texts, packed so that a page carries a million nodes.

Whole numbers become byte planes of differences (or numbers), the sign in the lowest bit: all lowest
bytes, all second bytes and so on. (The shuffle filter of HDF5 and Blosc; zigzag as in Protocol
Buffers.) All columns share one deflate stream, as base64. Numbers stay below 2^53, which JavaScript
holds exactly.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any, NamedTuple

import numpy as np

_LARGEST = 2**53
_LEVEL = 6


class Column(NamedTuple):
    """A column's place in the unpacked bytes, and how to read it."""

    offset: int
    length: int
    planes: int
    form: str  # "delta", "plain", "real"


class Columns:
    """Collects columns by name; `texts` are kept once each, by place + 1."""

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {}
        self._parts: list[bytes] = []
        self._size = 0
        self._texts: dict[str, int] = {}

    def add(self, name: str, values: Any, *, delta: bool = True) -> None:
        """Add a column of whole numbers; `delta` stores the differences of neighbours.

        Raises ValueError for a number that a page cannot hold.
        """
        column = np.asarray(values, dtype=np.int64)
        if len(column) and max(abs(int(column.max())), abs(int(column.min()))) >= _LARGEST:
            raise ValueError(f"{name}: numbers from 2^53 on cannot be shown")
        stored = np.diff(column, prepend=np.int64(0)) if delta else column
        zigzag = ((stored << 1) ^ (stored >> 63)).view(np.uint64)
        highest = int(zigzag.max()) if len(zigzag) else 0
        planes = (highest.bit_length() + 7) // 8
        little = zigzag.astype("<u8").view(np.uint8).reshape(len(column), 8)
        self._put(name, little[:, :planes].T.tobytes(), len(column), planes, _form(delta))

    def add_reals(self, name: str, values: Any) -> None:
        column = np.asarray(values, dtype="<f8")
        self._put(name, column.view(np.uint8).reshape(-1, 8).T.tobytes(), len(column), 8, "real")

    def add_texts(self, name: str, values: Any) -> None:
        self.add(name, [0 if value is None else self.text(value) for value in values], delta=False)

    def text(self, value: str) -> int:
        return self._texts.setdefault(value, len(self._texts) + 1)

    def directory(self) -> dict[str, list[int | str]]:
        return {name: list(column) for name, column in self.columns.items()}

    def packed(self) -> str:
        """All columns, then the texts as a JSON list, deflated, as base64."""
        texts = json.dumps(list(self._texts), ensure_ascii=False).encode(errors="replace")
        content = b"".join([*self._parts, texts])
        return base64.b64encode(zlib.compress(content, _LEVEL)).decode("ascii")

    @property
    def size(self) -> int:
        return self._size

    def _put(self, name: str, data: bytes, count: int, planes: int, form: str) -> None:
        self.columns[name] = Column(self._size, count, planes, form)
        self._parts.append(data)
        self._size += len(data)


def _form(delta: bool) -> str:
    return "delta" if delta else "plain"
