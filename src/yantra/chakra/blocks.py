"""`BlockBuilder`: short traces of nodes whose attributes are checked once for many of them.

A generator writes thousands of nodes that differ in name and place alone. `Attributes` are made
and checked once, and put together. `TemplateBuilder` copies what comes out.

Trade-off: what is given with a node itself, its name and its dependencies, is not checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from yantra import _core
from yantra.chakra.schema import Attribute, Kind
from yantra.chakra.trace import Trace

Row = tuple[str, Any, Kind]
"""The name, the value and the kind of an attribute."""

_PLAIN = 1 << 63
"""Whole numbers below it fit every kind of 64 bits, so only others are looked at any further."""


def _checked(name: str, value: Any, kind: Kind) -> Any:
    if kind is Kind.STRING:
        return _checked_text(name, value)
    if type(value) is int and 0 <= value < _PLAIN and kind is not Kind.BOOL:
        return value
    return Attribute(name, value, kind).value


@lru_cache(maxsize=4096)
def _checked_text(name: str, value: str) -> Any:
    return Attribute(name, value, Kind.STRING).value


class Attributes(NamedTuple):
    """Attributes of the kinds STRING, BOOL, INT64 and UINT64, side by side."""

    names: tuple[str, ...]
    kinds: bytes
    values: tuple[Any, ...]

    @classmethod
    def of(cls, attributes: Sequence[Row]) -> Attributes:
        """Take rows apart. Raises TraceError for a value that is not of its kind."""
        values = [_checked(*row) for row in attributes]
        names, _, kinds = zip(*attributes, strict=True)
        return cls(names, bytes(kinds), tuple(values))

    def with_others(self, others: Attributes) -> Attributes:
        """Return these, and the others behind them."""
        names, kinds, values = others
        return Attributes(self.names + names, self.kinds + kinds, self.values + values)


class BlockBuilder:
    """Collects nodes, whose ids count from 0, and makes a trace of them."""

    def __init__(self) -> None:
        self._recorder = _core.TraceRecorder()
        self._recorder.end_metadata("")
        self._size = 0

    def message(self, size_bytes: int, tag: int) -> None:
        """Give the next node the size and the tag of a message."""
        self._recorder.attribute("comm_size", Kind.INT64, size_bytes, "")
        self._recorder.attribute("comm_tag", Kind.INT32, tag, "")

    def node(
        self,
        name: str,
        type: int,
        attributes: Attributes,
        data: list[int],
        control: list[int],
    ) -> None:
        """Add a node with its attributes and the ids that it depends on."""
        self._recorder.attributes(*attributes)
        self._recorder.node(self._size, name, type, 0, 0, data, control)
        self._size += 1

    def build(self) -> Trace:
        """Return the trace."""
        return Trace.from_native(self._recorder.finish())
