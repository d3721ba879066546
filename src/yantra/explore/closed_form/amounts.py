"""The operations of a work for many keys of plans, as columns of numbers.

A work is made once for all keys whose operations differ in numbers alone (`cases.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from yantra.workloads.operators.operations import Operation, StageWork

_FIXED = 6  # flops, bytes moved, sent, saved, freed, of gradients; then a kernel's sizes
_GRADIENT = 5

_ACCUMULATED = "accumulated"


class Block(NamedTuple):
    """A kernel for many keys, and rows of its numbers:

    operations, bytes moved, the sizes of its `shape`, and those of `names`.
    """

    kind: str
    dtype: str
    phase: str
    names: tuple[str, ...]
    rows: np.ndarray

    @property
    def key(self) -> tuple[object, ...]:
        return *self[:-1], self.rows.shape, self.rows.tobytes()


class Amounts(NamedTuple):
    """The numbers of a work's operations, forward then backward: rows of keys.

    `starts` is where each operation's rows begin in `rows`, and the end. `border` crosses to the
    next stage.
    """

    operations: tuple[Operation, ...]
    rows: np.ndarray
    starts: np.ndarray
    border: np.ndarray

    @property
    def saves(self) -> np.ndarray:
        saves: np.ndarray = self.rows[self.starts[:-1] + 3]
        return saves

    @property
    def frees(self) -> np.ndarray:
        frees: np.ndarray = self.rows[self.starts[:-1] + 4]
        return frees

    def sent(self, at: int) -> np.ndarray:
        sent: np.ndarray = self.rows[self.starts[at] + 2]
        return sent

    def size(self, at: int, place: int) -> np.ndarray:
        """A size of an operation's shape."""
        size: np.ndarray = self.rows[self.starts[at] + _FIXED + place]
        return size

    def at(self, places: Sequence[int]) -> Amounts:
        return self._replace(rows=self.rows[:, places], border=self.border[places])

    def with_half_gradients(self) -> Amounts:
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
        """Yield each operation as a kernel, None if it communicates."""
        starts = self.starts.tolist()
        for one, first, end in zip(self.operations, starts, starts[1:], strict=False):
            if one.communicates:
                yield None
                continue
            names = tuple(name for name, _ in one.sizes)
            rows = np.concatenate([self.rows[first : first + 2], self.rows[first + _FIXED : end]])
            yield Block(one.kind, one.dtype, one.phase, names, rows)


def amounts_of(work: StageWork, keys: int) -> Amounts:
    operations = (*work.forward.operations, *work.backward.operations)
    lengths = [_FIXED + len(one.shape) + len(one.sizes) for one in operations]
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    rows = np.empty((int(starts[-1]) + 1, keys), np.int64)
    for row, number in enumerate(_numbers(work)):
        rows[row] = number
    return Amounts(operations, rows[:-1], starts, rows[-1])


def block_of(operations: Sequence[Operation]) -> Block:
    one = operations[0]
    columns = [(*_moved(each), *each.shape, *(n for _, n in each.sizes)) for each in operations]
    names = tuple(name for name, _ in one.sizes)
    return Block(one.kind, one.dtype, one.phase, names, np.array(columns, np.int64).T.copy())


def _moved(one: Operation) -> tuple[int, int]:
    return one.tensor_flops + one.vector_flops, one.bytes_read + one.bytes_written


def _writes_gradients(one: Operation, has_tables: bool) -> bool:
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
