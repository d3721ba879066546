"""What the operations of a work are for many micro-batches: columns, one number for each of them.

What a kernel, a collective or a tensor is grows by as much with each sequence of a micro-batch. So
works are made for micro-batches of one, two and the most, and those between lie on the line through
the first two. Where the third does not lie on it, every one is made.

Trade-off: a number that is rounded in between but not at the most is off by its rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from yantra.workloads.operators.operations import Operation, StageWork

_FEW = 3
_FIXED = 6  # flops, bytes moved, sent, saved, freed, of gradients written; then a kernel's sizes
_GRADIENT = 5

_ACCUMULATED = "accumulated"

Key = tuple[object, ...]
"""What tells a kernel of all micro-batches from others."""


class Amounts(NamedTuple):
    """The numbers of the operations of a work, forward then backward: rows of micro-batches.

    `starts` is where the rows of an operation begin in `rows`, and where the last one ends.
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

    def key(self, at: int) -> Key:
        """Return what a kernel is, for all micro-batches."""
        one, first = self.operations[at], self.starts[at]
        rows = self.rows[first : self.starts[at + 1]]
        names = tuple(name for name, _ in one.sizes)
        sizes = rows[_FIXED:].tobytes()
        return one.kind, one.dtype, one.phase, names, rows[:2].tobytes(), sizes

    def at(self, places: Sequence[int]) -> Amounts:
        """Return the same for some of the micro-batches."""
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

    def kernels(self, at: int) -> list[Operation]:
        """Return a kernel as it is for each micro-batch."""
        one, first = self.operations[at], self.starts[at]
        columns = self.rows[first : self.starts[at + 1]].T.tolist()
        end = _FIXED + len(one.shape)
        names = [name for name, _ in one.sizes]
        return [
            Operation(
                one.name, one.kind, one.phase, one.unit, tensor_flops=column[0],
                bytes_read=column[1], shape=tuple(column[_FIXED:end]),
                sizes=tuple(zip(names, column[end:], strict=True)), dtype=one.dtype,
            )
            for column in columns
        ]  # fmt: skip


def amounts_of(
    made: Callable[[int], Sequence[StageWork]], sizes: Sequence[int]
) -> list[tuple[StageWork, Amounts]] | None:
    """Return the works of the parts for one micro-batch, with their amounts for all of `sizes`.

    `made` returns the works for a micro-batch of a size; `sizes` ascend. None where works of two
    sizes differ in more than numbers.
    """
    if len(sizes) > _FEW:
        found = _on_lines([made(1), made(2), made(sizes[-1])], np.array(sizes))
        if found is not None:
            return found
    works = [made(size) for size in sizes]
    numbers = [[_numbers(work) for work in part] for part in zip(*works, strict=True)]
    firsts = [_shape(work) for work in works[0]]
    if any(
        _shape(work) != first for some in works for work, first in zip(some, firsts, strict=True)
    ):
        return None
    return [
        (work, _amounts(work, np.stack(some, axis=1)))
        for work, some in zip(works[0], numbers, strict=True)
    ]


def _on_lines(
    works: Sequence[Sequence[StageWork]], sizes: np.ndarray
) -> list[tuple[StageWork, Amounts]] | None:
    found = []
    for one, two, most in zip(*works, strict=True):
        if not _shape(one) == _shape(two) == _shape(most):
            return None
        first, second, last = map(_numbers, (one, two, most))
        more = second - first
        if not np.array_equal(first + more * (sizes[-1] - 1), last):
            return None
        found.append((one, _amounts(one, first[:, None] + more[:, None] * (sizes - 1))))
    return found


def _amounts(work: StageWork, rows: np.ndarray) -> Amounts:
    operations = (*work.forward.operations, *work.backward.operations)
    lengths = [_FIXED + len(one.shape) + len(one.sizes) for one in operations]
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    return Amounts(operations, rows[:-1], starts, rows[-1])


def _shape(work: StageWork) -> list[object]:
    """Return what is no number of a work."""
    return [
        (one.kind, one.phase, one.dtype, one.group, one.peer, one.tag, one.after, len(one.shape))
        for of in (work.forward, work.backward)
        for one in of.operations
    ] + [work.forward.entries, work.forward.exit, work.backward.entries, work.backward.exit]


def _writes_gradients(one: Operation, has_tables: bool) -> bool:
    """Return whether a kernel writes gradients; rows of tables it updates in place."""
    return one.phase == "wgrad" and not (has_tables and one.kind == "scatter")


def _numbers(work: StageWork) -> np.ndarray:
    numbers: list[int] = []
    has_tables = any(weight.domain == "table" for weight in work.weights)
    for of in (work.forward, work.backward):
        for one in of.operations:
            numbers += (
                one.tensor_flops + one.vector_flops,
                one.bytes_read + one.bytes_written,
                one.size_bytes,
                one.saves,
                one.frees,
                one.bytes_written if _writes_gradients(one, has_tables) else 0,
                *one.shape,
                *[size for _, size in one.sizes],
            )
    numbers.append(work.output_bytes or work.input_bytes)
    return np.array(numbers, dtype=np.int64)
