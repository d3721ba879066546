"""A synthesised collective: who sends which blocks to whom, and when.

A reduce-scatter is an all-gather of the reversed fabric, played backwards.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.collectives.schedule import Kind, Move, Round, Schedule


class Transfer(NamedTuple):
    """Blocks from one rank to another, from `start_ns` until the last byte arrives."""

    start_ns: float
    end_ns: float
    src: int
    dst: int
    blocks: range
    reduce: bool = False


class Transfers(NamedTuple):
    start_ns: NDArray[np.float64]
    end_ns: NDArray[np.float64]
    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    first: NDArray[np.uint32]
    blocks: NDArray[np.uint32]
    reduce: NDArray[np.bool_]

    @property
    def messages(self) -> int:
        return len(self.start_ns)

    def ordered(self, *by: NDArray[np.generic]) -> Transfers:
        order = np.lexsort(by[::-1])
        return Transfers._make(column[order] for column in self)


class Plan(NamedTuple):
    """A collective's transfers by start; `blocks` are all ranks', `method` how it was found."""

    kind: Kind
    ranks: int
    blocks: int
    columns: Transfers
    method: str

    @property
    def transfers(self) -> tuple[Transfer, ...]:
        of = self.columns
        ends = zip(of.first.tolist(), of.blocks.tolist(), strict=True)
        blocks = (range(first, first + count) for first, count in ends)
        before = (column.tolist() for column in of[:4])
        return tuple(map(Transfer, *before, blocks, of.reduce.tolist()))

    @property
    def time_ns(self) -> float:
        return float(self.columns.end_ns.max(initial=0.0))

    def turned_round(self) -> Plan:
        of, end = self.columns, self.time_ns
        back = Transfers(
            end - of.end_ns,
            end - of.start_ns,
            of.dst,
            of.src,
            of.first,
            of.blocks,
            np.ones(of.messages, np.bool_),
        )
        ordered = back.ordered(back.start_ns, back.end_ns)
        return self._replace(kind=Kind.REDUCE_SCATTER, columns=ordered)

    def then(self, gather: Plan) -> Plan:
        end, of = self.time_ns, gather.columns
        later = of._replace(start_ns=of.start_ns + end, end_ns=of.end_ns + end)
        columns = Transfers._make(
            np.concatenate((self.columns[at], later[at])) for at in range(len(later))
        )
        return self._replace(kind=Kind.ALL_REDUCE, columns=columns)

    def schedule(self) -> Schedule:
        ready: dict[tuple[int, int], int] = defaultdict(int)  # by rank and block: the first round
        last: dict[tuple[int, int], int] = defaultdict(int)  # by link
        rounds: list[list[Move]] = []
        for each in self.transfers:
            link = each.src, each.dst
            at = max(last[link], *(ready[each.src, block] for block in each.blocks))
            last[link] = at
            for block in each.blocks:
                ready[each.dst, block] = max(ready[each.dst, block], at + 1)
            while len(rounds) <= at:
                rounds.append([])
            rounds[at].append(Move(each.src, each.dst, each.blocks, each.reduce))
        made = tuple(Round(tuple(moves)) for moves in rounds)
        return Schedule(self.kind, self.ranks, self.blocks, made, lockstep=False)
