"""What the core executes for one phase of a collective: only sizes and order, no time.

Sizes are num * floor(data / den), or ceil where the program rounds up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from yantra.collectives.schedule import Symmetry, shifted

if TYPE_CHECKING:
    from collections.abc import Iterator

Side = Literal["z", "nz"]
RingKind = Literal["usual", "group"]


class Run(NamedTuple):
    """`count` equal injections, each one hand-over to memory, then one send with its receive.

    A position sends to pos + dir * out and receives from pos + dir * into (mod n; peer "add"), or
    to pos ^ out and from pos ^ into (peer "xor"; other n pair up consecutively). Sizes are num /
    den; a hand-over is charged a reduction of reduce_num / reduce_den. On a shared bus it enters at
    the device ("z") or memory ("nz"), and travels `back`.
    """

    count: int  # type: ignore[assignment]  # a run needs no tuple's count
    out: int
    into: int
    peer: Literal["add", "xor"]
    num: int
    den: int
    reduce_num: int
    reduce_den: int
    side: Side
    back: bool


class ExchangeProgram(NamedTuple):
    """The exchange machine's program, the same for every position.

    The first `window` injections start with the phase; each receipt starts the next. A finished
    hand-over frees a slot, which releases the oldest unsent injection and posts its receive. After
    `sends` sends, the phase ends when `window` slots are free (the last `window` injections are
    never sent).
    """

    n: int
    runs: tuple[Run, ...]
    window: int
    sends: int
    barrier_at: int
    final_num: int
    final_den: int
    round_up: bool
    barrier_counts: Literal["receipts", "hand_overs"] = "receipts"

    def messages(self, data_bytes: int) -> Iterator[tuple[int, int, int]]:
        for position in range(self.n):
            left = self.sends
            for run in self.runs:
                destination = shifted(run.out, position, self.n, run.peer)
                size = scaled(data_bytes, run.num, run.den, self.round_up)
                for _ in range(min(run.count, left)):
                    yield position, destination, size
                left -= min(run.count, left)

    def receives(self, data_bytes: int) -> Iterator[tuple[int, int, int]]:
        """Source, destination and bytes of every receive posted (dir = +1)."""
        for position in range(self.n):
            left = self.sends
            for run in self.runs:
                source = shifted(run.into, position, self.n, run.peer)
                size = scaled(data_bytes, run.num, run.den, self.round_up)
                for _ in range(min(run.count, left)):
                    yield source, position, size
                left -= min(run.count, left)


class Op(NamedTuple):
    """One operation of a position; `deps` are indices of its earlier operations.

    "send" is done at once, "recv" when as much has come from `peer`; "local" is a hand-over to
    memory, charged the endpoint delay and a reduction of reduce_num / reduce_den. Of a position's
    hand-overs with `back_if_last`, the last to start goes back.
    """

    kind: Literal["send", "recv", "local"]
    peer: int
    num: int
    den: int
    reduce_num: int
    reduce_den: int
    deps: tuple[int, ...]
    side: Side = "z"
    back: bool = False
    back_if_last: bool = False


class GraphProgram(NamedTuple):
    """The graph machine's program.

    With symmetry "none", ops[p] are the operations of position p. Otherwise ops[0] are position
    0's, and position p does the same with peer + p mod n ("add") or peer ^ p ("xor"). The k-th
    receive of one size from a peer gets that peer's k-th send of that size. Positions from n on are
    `switches`, by device name; `hosts[k]` is the position whose operations begin the k-th's.
    """

    n: int
    ops: tuple[tuple[Op, ...], ...]
    symmetry: Symmetry
    final_num: int
    final_den: int
    round_up: bool
    switches: tuple[str, ...] = ()
    hosts: tuple[int, ...] = ()

    def messages(self, data_bytes: int) -> Iterator[tuple[int, int, int]]:
        """Source, destination and bytes of every message."""
        for position, op, peer in self.transfers("send"):
            yield position, peer, scaled(data_bytes, op.num, op.den, self.round_up)

    def receives(self, data_bytes: int) -> Iterator[tuple[int, int, int]]:
        """Source, destination and bytes of every receive posted."""
        for position, op, peer in self.transfers("recv"):
            yield peer, position, scaled(data_bytes, op.num, op.den, self.round_up)

    def transfers(self, kind: str) -> Iterator[tuple[int, Op, int]]:
        for position in range(self.n + len(self.switches)):
            for op in self.ops[0 if self.symmetry != "none" else position]:
                if op.kind == kind:
                    yield position, op, shifted(op.peer, position, self.n, self.symmetry)


Program: TypeAlias = ExchangeProgram | GraphProgram


def scaled(data: int, num: int, den: int, round_up: bool) -> int:
    return num * (-(-data // den) if round_up else data // den)
