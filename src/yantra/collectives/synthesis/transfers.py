"""A synthesised collective: who sends which blocks to whom, and when it is to happen.

An all-gather is found; a reduce-scatter is one of the fabric turned round, played backwards, and an
all-reduce is the one and then the other. Blocks are numbered as in `schedule`: those of a rank
follow each other.

Trade-off: what is meant to happen at a time is turned into rounds in which data comes before it
goes, and messages of a link keep their order; what a run makes of it depends on its network.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from yantra.collectives.schedule import Kind, Move, Round, Schedule


class Transfer(NamedTuple):
    """Blocks that go from one rank to another, from `start_ns` until the last byte is there."""

    start_ns: float
    end_ns: float
    src: int
    dst: int
    blocks: range
    reduce: bool = False


class Plan(NamedTuple):
    """The transfers of a collective in the order of their starts.

    `blocks` counts those of all ranks. `method` is how it was found.
    """

    kind: Kind
    ranks: int
    blocks: int
    transfers: tuple[Transfer, ...]
    method: str

    @property
    def time_ns(self) -> float:
        """When the last transfer is to end."""
        return max((each.end_ns for each in self.transfers), default=0.0)

    def turned_round(self) -> Plan:
        """Return the reduce-scatter that is this all-gather backwards, every message turned."""
        end = self.time_ns
        back = (
            Transfer(
                end - each.end_ns, end - each.start_ns, each.dst, each.src, each.blocks, reduce=True
            )
            for each in self.transfers
        )
        ordered = tuple(sorted(back, key=lambda each: (each.start_ns, each.end_ns)))
        return self._replace(kind=Kind.REDUCE_SCATTER, transfers=ordered)

    def then(self, gather: Plan) -> Plan:
        """Return the all-reduce of this reduce-scatter and then an all-gather of as many blocks."""
        end = self.time_ns
        later = (
            each._replace(start_ns=each.start_ns + end, end_ns=each.end_ns + end)
            for each in gather.transfers
        )
        return self._replace(kind=Kind.ALL_REDUCE, transfers=(*self.transfers, *later))

    def schedule(self) -> Schedule:
        """Return the rounds of the plan, to be proven and to be run."""
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
