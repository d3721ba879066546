"""What the operations of a work are for many keys of plans: columns, one number for each of them.

A work is made once for all keys whose operations are the same but for their numbers
(`yantra.explore.closed_form.cases`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from yantra.workloads.operators.operations import Operation, StageWork

_FIXED = 6  # flops, bytes moved, sent, saved, freed, of gradients written; then a kernel's sizes
_GRADIENT = 5

_ACCUMULATED = "accumulated"


class Block(NamedTuple):
    """A kernel for many keys: what it is, and rows of its numbers.

    Rows are operations, bytes moved, the sizes of its `shape`, and those of `names`.
    """

    kind: str
    dtype: str
    phase: str
    names: tuple[str, ...]
    rows: np.ndarray

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others."""
        return *self[:-1], self.rows.shape, self.rows.tobytes()


class Amounts(NamedTuple):
    """The numbers of the operations of a work, forward then backward: rows of keys.

    `starts` is where the rows of an operation begin in `rows`, and where the last one ends.
    `border` is what crosses to the next stage.
    """

    operations: tuple[Operation, ...]
    rows: np.ndarray
    starts: np.ndarray
    border: np.ndarray

    @property
    def saves(self) -> np.ndarray:
        """Bytes that each operation saves."""
        saves: np.ndarray = self.rows[self.starts[:-1] + 3]
        return saves

    @property
    def frees(self) -> np.ndarray:
        """Bytes of which nothing is left behind each operation."""
        frees: np.ndarray = self.rows[self.starts[:-1] + 4]
        return frees

    def sent(self, at: int) -> np.ndarray:
        """Return the bytes that an operation sends."""
        sent: np.ndarray = self.rows[self.starts[at] + 2]
        return sent

    def at(self, places: Sequence[int]) -> Amounts:
        """Return the same for some of the keys."""
        return self._replace(rows=self.rows[:, places], border=self.border[places])

    def with_half_gradients(self) -> Amounts:
        """Return the same where gradients of weights have half as many bytes."""
        rows = self.rows.copy()
        begins = self.starts[:-1]
        rows[begins + 1] -= rows[begins + _GRADIENT] // 2
        rows[begins + _GRADIENT] //= 2
        for one, begin in zip(self.operations, begins, strict=True):
            for place, (name, _) in enumerate(one.sizes, start=_FIXED + len(one.shape)):
                if name == _ACCUMULATED:
                    rows[begin + place] //= 2
        return self._replace(rows=rows)

    def blocks(self) -> Iterator[Block | None]:
        """Yield each operation as a kernel; None for one that communicates."""
        starts = self.starts.tolist()
        for one, first, end in zip(self.operations, starts, starts[1:], strict=False):
            if one.communicates:
                yield None
                continue
            names = tuple(name for name, _ in one.sizes)
            rows = np.concatenate([self.rows[first : first + 2], self.rows[first + _FIXED : end]])
            yield Block(one.kind, one.dtype, one.phase, names, rows)


def amounts_of(work: StageWork, keys: int) -> Amounts:
    """Return the amounts of a work of so many keys."""
    operations = (*work.forward.operations, *work.backward.operations)
    lengths = [_FIXED + len(one.shape) + len(one.sizes) for one in operations]
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    rows = np.empty((int(starts[-1]) + 1, keys), np.int64)
    for row, number in enumerate(_numbers(work)):
        rows[row] = number
    return Amounts(operations, rows[:-1], starts, rows[-1])


def block_of(operations: Sequence[Operation]) -> Block:
    """Return kernels that differ in numbers alone as one, a column of each."""
    one = operations[0]
    columns = [(*_moved(each), *each.shape, *(n for _, n in each.sizes)) for each in operations]
    names = tuple(name for name, _ in one.sizes)
    return Block(one.kind, one.dtype, one.phase, names, np.array(columns, np.int64).T.copy())


def _moved(one: Operation) -> tuple[int, int]:
    return one.tensor_flops + one.vector_flops, one.bytes_read + one.bytes_written


def _writes_gradients(one: Operation, has_tables: bool) -> bool:
    """Return whether a kernel writes gradients; rows of tables it updates in place."""
    return one.phase == "wgrad" and not (has_tables and one.kind == "scatter")


def _numbers(work: StageWork) -> Iterator[int]:
    has_tables = any(weight.domain == "table" for weight in work.weights)
    for of in (work.forward, work.backward):
        for one in of.operations:
            yield from _moved(one)
            yield one.size_bytes
            yield one.saves
            yield one.frees
            yield one.bytes_written if _writes_gradients(one, has_tables) else 0
            yield from one.shape
            for _, size in one.sizes:
                yield size
    yield work.output_bytes or work.input_bytes
