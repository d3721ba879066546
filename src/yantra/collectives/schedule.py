"""Who sends which block to whom, in which round: a collective algorithm as a provable object.

A schedule knows positions 0..n-1 of a group and numbered blocks of data, and no time and no bytes.
All moves of a round happen at once: each carries what its source held when the round began. A round
in which all positions do the same is written once, as the moves of position 0, so that a ring of
4096 is 8190 moves and not 33 million.

What `data` means (the size a program scales), how blocks divide it, and what a position p holds:

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

The blocks of a position are consecutive: c blocks for each of n positions make block // c the
owner. In an all-to-all, block (s * n + d) * c + i is the i-th of c blocks that s has for d.

Switches of the fabric may take part, named as the fabric names them: they are the positions from n
on. A switch holds nothing at first and need hold nothing at last. What it is first sent to add it
keeps; what it sends to several is a message to each, and links below it carry it once.
"""

from __future__ import annotations

from yantra.base.light import Literal, StrEnum
from yantra.base.tuples import NamedTuple

TYPE_CHECKING = False
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
    """One message: `src` sends `blocks` to `dst`, which adds them to its own or replaces them."""

    src: int
    """The position that sends."""
    dst: int
    """The position that receives."""
    blocks: Sequence[int]
    """The numbers of the blocks that it carries."""
    reduce: bool = False
    """Whether the receiver adds them to its own; else they replace those."""


class Round(NamedTuple):
    """Moves that happen at once.

    With symmetry "add" or "xor" they are those of position 0 (so `src` is 0), and stand for the
    same moves of every position p with x + p mod n, or x ^ p, for each position x, owners of blocks
    included.
    """

    moves: tuple[Move, ...]
    """The moves, of all positions or of position 0."""
    symmetry: Symmetry = "none"
    """How moves of position 0 stand for those of all others."""


class Schedule(NamedTuple):
    """The rounds of one collective over `n` positions and `blocks` blocks.

    Blocks have owners when their number is a multiple of n (n * n in an all-to-all); otherwise a
    symmetric round moves the same block numbers at every position. `lockstep` says how a position
    is paced: True: it enters a round when it has finished its earlier ones; False: a message goes
    as soon as the data it carries is there; `in_turn` then lets a position send one message at a
    time, in the order of the rounds. `switches` are positions n, n + 1 and so on.
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
    """The names of switches that take part: positions n, n + 1 and so on."""
    in_turn: bool = False
    """Whether a position sends one message at a time; without `lockstep` alone."""

    @property
    def members(self) -> int:
        """The positions, those of switches included."""
        return self.n + len(self.switches)

    def called(self, position: int) -> str:
        """Return how errors call a position."""
        is_switch = self.n <= position < self.members
        return f"switch {self.switches[position - self.n]}" if is_switch else f"position {position}"

    @property
    def parts(self) -> int:
        """Into how many blocks `data` is divided."""
        per_position = self.kind in (Kind.ALL_GATHER, Kind.GATHER, Kind.ALL_TO_ALL)
        return self.blocks // self.n if per_position else self.blocks

    def owners(self, block: int) -> tuple[int, int]:
        """Return the source and the destination of a block; both are the owner if it has one."""
        if self.kind is Kind.ALL_TO_ALL:
            return divmod(block // (self.blocks // self.n**2), self.n)
        owner = block // max(1, self.blocks // self.n)
        return owner, owner

    def moves(self, round_: Round) -> Iterator[Move]:
        """Yield every move of a round, symmetric ones written out."""
        if round_.symmetry == "none":
            yield from round_.moves
            return
        for by in range(self.n):
            for move in round_.moves:
                yield self.moved(move, by, round_.symmetry)

    def moved(self, move: Move, by: int, symmetry: Symmetry) -> Move:
        """Return position `by`'s copy of a move of position 0."""
        return Move(
            shifted(move.src, by, self.n, symmetry),
            shifted(move.dst, by, self.n, symmetry),
            [self._shifted_block(block, by, symmetry) for block in move.blocks],
            move.reduce,
        )

    def messages(self, data_bytes: int) -> Iterator[tuple[int, int, int]]:
        """Yield source, destination and bytes of every message; `parts` must divide the data."""
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
    """Return the position that `position` seen from position 0 is when seen from `by`."""
    if symmetry == "xor":
        return position ^ by
    return (position + by) % n if symmetry == "add" else position


def doublings(n: int) -> list[int]:
    """Return 1, 2, 4 and so on, as far as they are below n."""
    return [1 << bit for bit in range((n - 1).bit_length())]
