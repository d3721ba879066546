"""A pass of few layers -> the time, operations and bytes of all, by part.

A layer takes what it adds to the end of the one before; what of it is no kernel is exposed
communication.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.compute.families.frameworks import tile_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from yantra.serving.iteration.works import Piece
    from yantra.workloads.operators.operations import Operation

PARTS = ("products", "attention", "memory_bound", "experts", "collectives")
"""What an iteration's time on its devices is made of."""
_PART_OF = {"gemm": 0, "conv": 0, "grouped_gemm": 3}
_ATTENTION, _REST, _COLLECTIVES = 1, 2, 4
_ROWS = 1  # of an expert, in a shape (experts, rows, columns, depth)
_MIXERS = ("attention", "scan", "index")


class Work(NamedTuple):
    """`ran` are operations that run: those of experts' rows that fill a tile, too."""

    ns: np.ndarray
    flops: np.ndarray
    bytes: np.ndarray
    ran: np.ndarray

    @classmethod
    def nothing(cls, cases: int) -> Work:
        return cls(np.zeros((len(PARTS), cases)), *(np.zeros(cases) for _ in range(3)))

    def plus(self, other: Work) -> Work:
        return Work(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def whole_ns(self) -> np.ndarray:
        """The time of all parts."""
        whole: np.ndarray = self.ns.sum(axis=0)
        return whole

    def at(self, cases: np.ndarray) -> Work:
        """Some of the cases."""
        return Work(self.ns[:, cases], self.flops[cases], self.bytes[cases], self.ran[cases])


def part_of(operation: Operation) -> int:
    """Which of `PARTS` an operation counts to."""
    if operation.communicates:
        return _COLLECTIVES
    if operation.kind in _MIXERS:
        return _ATTENTION
    return _PART_OF.get(operation.kind, _REST)


def summed(
    piece: Piece, times: Sequence[np.ndarray], chosen: Collection[str], framework: str | None
) -> Work:
    made = Work.nothing(len(piece.places))
    begins = piece.amounts.starts
    for at, (operation, ns, often) in enumerate(
        zip(piece.operations, times, piece.times, strict=True)
    ):
        if operation.name in chosen:
            row = int(begins[at])
            made.ns[part_of(operation)] += often * ns
            flops = often * piece.amounts.rows[row].astype(float)
            made.flops[:] += flops
            made.ran[:] += flops * _filled(piece, at, framework)
            made.bytes[:] += often * piece.amounts.rows[row + 1].astype(float)
    return made


def _filled(piece: Piece, at: int, framework: str | None) -> np.ndarray | float:
    operation = piece.operations[at]
    if operation.kind != "grouped_gemm":
        return 1.0
    rows = piece.amounts.size(at, _ROWS)
    filled: np.ndarray = np.maximum(
        tile_rows(framework, operation.dtype) / np.maximum(rows, 1), 1.0
    )
    return filled


def walked(
    piece: Piece,
    times: Sequence[np.ndarray],
    chosen: Collection[str],
    framework: str | None,
    taken: float,
) -> Work:
    made = summed(piece, times, chosen, framework)
    exposed = np.zeros(len(piece.places))
    for often, ns in _units(piece, times, taken):
        exposed += often * ns
    made.ns[_COLLECTIVES] = np.maximum(exposed, 0.0)  # of no collectives rounding is left
    return made


def _units(piece: Piece, times: Sequence[np.ndarray], taken: float) -> list[tuple[int, np.ndarray]]:
    none = np.zeros(len(piece.places))
    ends: list[np.ndarray] = []
    chains: dict[str, np.ndarray] = {}
    found: list[tuple[int, np.ndarray]] = []
    before, kernels, moves, last = none, none, none, none
    for at, (operation, ns) in enumerate(zip(piece.operations, times, strict=True)):
        chain = operation.group if operation.communicates else ""
        start = chains.get(chain, none)
        for needed in operation.after:
            start = np.maximum(start, ends[needed])
        chains[chain] = start + ns
        ends.append(chains[chain])
        last = np.maximum(last, ends[-1])
        kernels, moves = (kernels, moves + ns) if chain else (kernels + ns, moves)
        behind = piece.operations[at + 1].unit if at + 1 < len(piece.operations) else None
        if behind != operation.unit:
            takes = last - before
            beside = np.maximum(kernels + moves - takes, 0.0)
            found.append((piece.times[at], takes + taken * beside - kernels))
            before, kernels, moves = last, none, none
    return found
