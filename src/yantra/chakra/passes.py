"""`PassEncoder`: operations of a pass -> blocks of nodes, encoded once and copied many times.

The core does it (native/trace/tools/encode_pass.hpp): it reads the tuples of a pass in one call,
and says what its operations are together. Their fields are those of `Operation`, `Item`, `Wait`
and `Stretch` of `yantra.workloads`, in that order. A pass is of items and stretches.
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
"""What the core reads of each, in words."""


class PassEncoder:
    """Encodes passes; what several of them have in common is read once."""

    def __init__(self) -> None:
        self._native = _core.PassEncoder()

    def encode(self, parts: Sequence[tuple[Any, ...]], chunk: int | None) -> EncodedPass:
        """Encode a pass, each of its parts as a segment; `chunk` is None behind all passes.

        Raises OverflowError for a number that 63 bits do not hold.
        """
        try:
            return self._native.encode(parts, chunk)
        except ValueError as error:
            raise InternalError(f"a pass cannot be encoded: {error}") from None

    def totals(self, items: tuple[Any, ...]) -> PassTotals:
        """Return what operations in this order are together.

        Raises OverflowError for operations or bytes that 63 bits do not hold.
        """
        return self._native.totals(items)
