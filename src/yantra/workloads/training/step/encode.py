"""Operations of a pass -> blocks of Chakra nodes that are encoded once and copied many times.

The core does it (native/trace/tools/encode_pass.hpp): it reads the tuples of a pass in one call,
and says what its operations are together.
"""

from __future__ import annotations

from collections.abc import Sequence

from yantra import _core
from yantra.base.errors import InternalError, TraceError
from yantra.workloads.training.step.draft import Item
from yantra.workloads.training.step.turns import Part


class Encoder:
    """Encodes passes; what several of them have in common is read once."""

    def __init__(self) -> None:
        self._native = _core.PassEncoder()

    def encode(self, parts: Sequence[Part], chunk: int | None) -> _core.EncodedPass:
        """Encode a pass, each of its parts as a segment; `chunk` is None behind all passes.

        Raises TraceError for a number that 63 bits do not hold.
        """
        try:
            return self._native.encode(parts, chunk)
        except OverflowError:
            raise TraceError("an operation has a number that 63 bits do not hold") from None
        except ValueError as error:
            raise InternalError(f"a pass cannot be encoded: {error}") from None

    def totals(self, items: tuple[Item, ...]) -> _core.PassTotals:
        """Return what operations in this order are together.

        Raises OverflowError for operations or bytes that 63 bits do not hold.
        """
        return self._native.totals(items)
