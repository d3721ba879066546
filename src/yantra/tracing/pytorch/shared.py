"""One object for each text, attribute and tensor list that recurs in a trace."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from yantra.tracing.pytorch.linked import Attr

_HASHED = (int, str)
_MOST = 1 << 14  # attributes that are known again


class Shared:
    """Attributes that are passed in may be those that others get."""

    def __init__(self) -> None:
        self._attrs: dict[tuple[str, str, Any], Attr] = {}
        self._texts: dict[str, str] = {}
        self._tensors: dict[bytes, Raw] = {}

    def text(self, text: str) -> str:
        return self._texts.setdefault(text, text)

    def attrs(self, attrs: list[Attr]) -> list[Attr]:
        known = self._attrs
        for at, attr in enumerate(attrs):
            if type(attr.value) in _HASHED:
                found = known.get((attr.name, attr.type, attr.value))
                if found is not None:
                    attrs[at] = found
                    continue
                if len(known) < _MOST:
                    known[attr.name, attr.type, attr.value] = attr
            attr.name, attr.type = self.text(attr.name), self.text(attr.type)
        return attrs

    def raw(self, raw: Raw) -> Raw:
        """The same JSON, without the file that it is a piece of."""
        text = bytes(raw)
        return self._tensors.setdefault(text, Raw(text))
