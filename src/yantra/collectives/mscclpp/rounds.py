"""Pipelines of a plan of MSCCL++: operations that loop over a few bytes of their data at a time.

Trade-off: rounds are written out, so a plan is read for one size; chunks are whole bytes, cut so
that units are multiples of a part.

Source: microsoft/mscclpp, `src/core/executor/execution_plan.cc` and `execution_kernel.hpp`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import NamedTuple

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.collectives.mscclpp.plan import COPIES, SUMS, Operation, Span

PIPELINE = "pipeline"
_MOST = 1 << 20  # operations of all rounds of one pipeline


class Loop(NamedTuple):
    where: str
    unit_bytes: int
    chunks: int

    def parts(self, chunk_bytes: int) -> int:
        """Parts of a chunk that make a unit whole."""
        return chunk_bytes // gcd(chunk_bytes, self.unit_bytes)

    def unroll(
        self, operations: Sequence[Operation], chunk_bytes: int, units: int
    ) -> Iterator[Operation]:
        rounds = -(-self.chunks * chunk_bytes // self.unit_bytes)
        if rounds * len(operations) > _MOST:
            made = f"{rounds} rounds of {len(operations)} operations"
            advice = f"at most {_MOST} operations are written out; give a smaller --size"
            raise UnsupportedError(f"{self.where}: {made}, and {advice}")
        size = self.unit_bytes * units // chunk_bytes
        for number in range(rounds):
            for operation in operations:
                made_of = _part(operation, number * size, size)
                if made_of is not None:
                    yield made_of


def chunk_bytes(where: str, size_bytes: int | None, chunks: int) -> int:
    """Bytes of a chunk. Raises ConfigError without a size, or with a part of a byte."""
    if size_bytes is None:
        raise ConfigError(where, "a pipeline's rounds depend on the size; give --size")
    if chunks < 1 or size_bytes % chunks:
        problem = f"expected a --size of whole chunks, {chunks} of them, got {size_bytes} bytes"
        raise ConfigError(where, problem)
    return size_bytes // chunks


def _part(operation: Operation, first: int, size: int) -> Operation | None:
    if operation.kind not in COPIES and operation.kind not in SUMS:
        return operation
    left = min(operation.reads[0].size - first, size)
    if left > 0:
        reads, writes = (
            tuple(Span(one.gpu, one.buffer, one.first + first, left) for one in spans)
            for spans in (operation.reads, operation.writes)
        )
        return operation._replace(reads=reads, writes=writes)
    if operation.channels:
        problem = "what its signal does in a round without data is not known"
        raise UnsupportedError(f"{operation.where}: {operation.kind}: {problem}")
    return None
