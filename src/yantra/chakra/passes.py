"""`PassEncoder`: operations of a pass as node blocks, encoded once, copied often.

Fields that the core reads are, in order, those of `Operation`, `Item`, `Wait` and `Stretch`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yantra import _core
from yantra.base.errors import InternalError

EncodedPass = _core.EncodedPass
PassTotals = _core.PassTotals
Segment = _core.Segment

OPERATION_FIELDS: str = _core.PassEncoder.OPERATION_FIELDS
ITEM_FIELDS: str = _core.PassEncoder.ITEM_FIELDS
WAIT_FIELDS: str = _core.PassEncoder.WAIT_FIELDS
STRETCH_FIELDS: str = _core.PassEncoder.STRETCH_FIELDS
"""Fields the core reads."""


class PassEncoder:
    """Encodes passes; what they share is read once."""

    def __init__(self) -> None:
        self._native = _core.PassEncoder()

    def encode(self, parts: Sequence[tuple[Any, ...]], chunk: int | None) -> EncodedPass:
        """Encode a pass, each part as a segment; `chunk` is None behind all passes.

        Raises OverflowError for a number beyond 63 bits.
        """
        try:
            return self._native.encode(parts, chunk)
        except ValueError as error:
            raise InternalError(f"a pass cannot be encoded: {error}") from None

    def totals(self, items: tuple[Any, ...]) -> PassTotals:
        """Totals of operations in this order.

        Raises OverflowError beyond 63 bits.
        """
        return self._native.totals(items)
