"""Who sends which block to whom, in which round: a collective algorithm as a provable object.

Positions 0..n-1 and numbered blocks, without time or bytes. A round's moves happen at once, with
what sources held when it began. A round equal at all positions is written as position 0's moves: a
ring of 4096 is 8190 moves, not 33 million.

`data` (the size a program scales), its blocks, and what a position p holds:

    kind            data                    blocks divide  p holds at first     p must hold at last
    all_reduce      input of a position     the input      its part of each     the sum, all blocks
    reduce_scatter  input of a position     the input      its part of each     the sum, own blocks
    reduce          input of a position     the input      its part of each     p = 0: the sum, all
    all_gather      shard of a position     all n shards   own blocks           all blocks
    gather          shard of a position     all n shards   own blocks           p = 0: all blocks
    all_to_all      input of a position     all n inputs   blocks p -> any      blocks any -> p
    broadcast       input of position 0     that input     p = 0: all blocks    all blocks
    scatter         input of position 0     that input     p = 0: all blocks    own blocks
    barrier         one signal              one signal     its arrival          everybody's arrival

A position's c blocks are consecutive: block // c is the owner. In an all-to-all, block (s * n + d)
* c + i is the i-th of c that s has for d.

Positions from n on are switches, by the fabric's names. They hold nothing at first and need hold
nothing at last, keep what they are first sent to add, and send one message to each of several,
which links below carry once.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Symmetry = Literal["none", "add", "xor"]


class Kind(StrEnum):
    """The collective operations, in the words of MPI."""

    ALL_REDUCE = "all_reduce"
    """Every position ends with the sum of all."""
    REDUCE_SCATTER = "reduce_scatter"
    """Every position ends with its block of the sum."""
    ALL_GATHER = "all_gather"
    """Every position ends with the blocks of all."""
    ALL_TO_ALL = "all_to_all"
    """Every position has a block for each other."""
    BROADCAST = "broadcast"
    """Every position ends with the data of one."""
    REDUCE = "reduce"
    """One position ends with the sum of all."""
    GATHER = "gather"
    """One position ends with the blocks of all."""
    SCATTER = "scatter"
    """Every position ends with its block of the data of one."""
    BARRIER = "barrier"
    """No position leaves before all have entered; it carries no data."""


class Move(NamedTuple):
    """One message: `dst` adds `blocks` of `src` to its own or replaces them."""

    src: int
    """The position that sends."""
    dst: int
    """The position that receives."""
    blocks: Sequence[int]
    """The numbers of the blocks that it carries."""
    reduce: bool = False
    """Whether the receiver adds them to its own instead of replacing those."""


class Round(NamedTuple):
    """Moves that happen at once.

    With symmetry "add" or "xor" they are position 0's; position p does the same with x + p mod n,
    or x ^ p, for each x.
    """

    moves: tuple[Move, ...]
    """The moves, of all positions or of position 0."""
    symmetry: Symmetry = "none"
    """How moves of position 0 stand for those of all others."""


class Schedule(NamedTuple):
    """The rounds of one collective.

    Blocks have owners if a multiple of n (all-to-all: n * n); otherwise a symmetric round moves the
    same numbers everywhere. Without `lockstep` a message goes once its data has arrived.
    """

    kind: Kind
    """The collective."""
    n: int
    """Positions."""
    blocks: int
    """Blocks that the data is divided into."""
    rounds: tuple[Round, ...]
    """The rounds, in their order."""
    lockstep: bool = True
    """Whether a position enters a round only when it has finished its earlier ones."""
    switches: tuple[str, ...] = ()
    """Switches that take part: positions n, n + 1 and so on."""
    in_turn: bool = False
    """Whether a position sends one message at a time, in order; only without `lockstep`."""

    @property
    def members(self) -> int:
        """The positions, switches included."""
        return self.n + len(self.switches)

    def called(self, position: int) -> str:
        """The name of a position in errors."""
        is_switch = self.n <= position < self.members
        return f"switch {self.switches[position - self.n]}" if is_switch else f"position {position}"

    @property
    def parts(self) -> int:
        """How many blocks `data` is divided into."""
        per_position = self.kind in (Kind.ALL_GATHER, Kind.GATHER, Kind.ALL_TO_ALL)
        return self.blocks // self.n if per_position else self.blocks

    def owners(self, block: int) -> tuple[int, int]:
        """The source and the destination of a block; both are the owner if it has one."""
        if self.kind is Kind.ALL_TO_ALL:
            return divmod(block // (self.blocks // self.n**2), self.n)
        owner = block // max(1, self.blocks // self.n)
        return owner, owner

    def moves(self, round_: Round) -> Iterator[Move]:
        """Every move of a round, symmetric ones written out."""
        if round_.symmetry == "none":
            yield from round_.moves
            return
        for by in range(self.n):
            for move in round_.moves:
                yield self.moved(move, by, round_.symmetry)

    def moved(self, move: Move, by: int, symmetry: Symmetry) -> Move:
        """Position `by`'s copy of a move of position 0."""
        return Move(
            shifted(move.src, by, self.n, symmetry),
            shifted(move.dst, by, self.n, symmetry),
            [self._shifted_block(block, by, symmetry) for block in move.blocks],
            move.reduce,
        )

    def messages(self, data_bytes: int) -> Iterator[tuple[int, int, int]]:
        """Source, destination and bytes of every message; `parts` must divide the data."""
        block_bytes = data_bytes // self.parts
        for round_ in self.rounds:
            for move in self.moves(round_):
                yield move.src, move.dst, len(move.blocks) * block_bytes

    def _shifted_block(self, block: int, by: int, symmetry: Symmetry) -> int:
        if self.kind is Kind.ALL_TO_ALL:
            source, destination = self.owners(block)
            source = shifted(source, by, self.n, symmetry)
            destination = shifted(destination, by, self.n, symmetry)
            slices = self.blocks // self.n**2
            return (source * self.n + destination) * slices + block % slices
        slices, left_over = divmod(self.blocks, self.n)
        if left_over:
            return block
        owner, place = divmod(block, slices)
        return shifted(owner, by, self.n, symmetry) * slices + place


def shifted(position: int, by: int, n: int, symmetry: Symmetry) -> int:
    """Position `by`'s counterpart of what `position` is to position 0."""
    if symmetry == "xor":
        return position ^ by
    return (position + by) % n if symmetry == "add" else position


def doublings(n: int) -> list[int]:
    """1, 2, 4 and so on, below n."""
    return [1 << bit for bit in range((n - 1).bit_length())]


def final_fraction(kind: Kind, n: int) -> tuple[int, int]:
    """Numerator and denominator of the part of `data` held after a collective."""
    if kind in (Kind.ALL_GATHER, Kind.GATHER):
        return n, 1
    return (1, n) if kind in (Kind.REDUCE_SCATTER, Kind.SCATTER) else (1, 1)
