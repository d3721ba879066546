"""A pass of few layers -> the time, operations and bytes of all, by part.

A layer takes what it adds to the end of the one before; what of it is no kernel is exposed
communication.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from yantra.serving.iteration.works import Piece
    from yantra.workloads.operators.operations import Operation

PARTS = ("products", "attention", "memory_bound", "experts", "collectives")
"""What an iteration's time on its devices is made of."""
_PART_OF = {"gemm": 0, "conv": 0, "grouped_gemm": 3}
_ATTENTION, _REST, _COLLECTIVES = 1, 2, 4
_MIXERS = ("attention", "scan", "index")


class Work(NamedTuple):
    ns: np.ndarray
    flops: np.ndarray
    bytes: np.ndarray

    @classmethod
    def nothing(cls, cases: int) -> Work:
        return cls(np.zeros((len(PARTS), cases)), np.zeros(cases), np.zeros(cases))

    def plus(self, other: Work) -> Work:
        return Work(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def whole_ns(self) -> np.ndarray:
        """The time of all parts."""
        whole: np.ndarray = self.ns.sum(axis=0)
        return whole

    def at(self, cases: np.ndarray) -> Work:
        """Some of the cases."""
        return Work(self.ns[:, cases], self.flops[cases], self.bytes[cases])


def part_of(operation: Operation) -> int:
    """Which of `PARTS` an operation counts to."""
    if operation.communicates:
        return _COLLECTIVES
    if operation.kind in _MIXERS:
        return _ATTENTION
    return _PART_OF.get(operation.kind, _REST)


def summed(piece: Piece, times: Sequence[np.ndarray], chosen: Collection[str]) -> Work:
    made = Work.nothing(len(piece.places))
    begins = piece.amounts.starts
    for at, (operation, ns, often) in enumerate(
        zip(piece.operations, times, piece.times, strict=True)
    ):
        if operation.name in chosen:
            row = int(begins[at])
            made.ns[part_of(operation)] += often * ns
            made.flops[:] += often * piece.amounts.rows[row].astype(float)
            made.bytes[:] += often * piece.amounts.rows[row + 1].astype(float)
    return made


def walked(
    piece: Piece, times: Sequence[np.ndarray], chosen: Collection[str], taken: float
) -> Work:
    made = summed(piece, times, chosen)
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
