"""An execution plan of MSCCL++: what every thread block of every GPU does, on one-sided channels.

Packets (protocol LL) have a flag in each word, so readers need no signal.

Source: microsoft/mscclpp, `src/core/executor/execution_plan.cc` and
`src/core/include/execution_kernel.hpp`.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.collectives.msccl.program import Buffer

COPIES = {
    "copy": "copy",
    "cpkt": "copy into packets",
    "upkt": "unpack packets",
    "put": "put",
    "ppkt": "put packets",
    "rppkt": "read and put packets",
    "pws": "put with signal",
    "pwsf": "put with signal and flush",
    "get": "get",
}
SUMS = {
    "re": "reduce",
    "repkt": "reduce packets",
    "recpkt": "reduce and copy packets",
    "res": "reduce and send",
    "respkt": "reduce and send packets",
    "recspkt": "reduce, copy and send packets",
    "rre": "read and reduce",
    "rres": "read, reduce and send",
}
SIGNALS = frozenset({"signal", "rlxsignal", "pws", "pwsf"})
WAITS = frozenset({"wait", "rlxwait"})
PACKETS_READ = frozenset({"upkt", "rppkt", "repkt", "recpkt", "respkt", "recspkt"})
"""Operations that read packets from scratch; sums read all operands but the first so."""
PACKETS_SENT = frozenset({"ppkt", "rppkt", "respkt", "recspkt"})
"""Operations that put packets, twice the bytes of their data."""
PACKETS_KEPT = frozenset({"cpkt", "recpkt", "recspkt"})
"""Operations whose local results in scratch are packets."""
OTHERS = frozenset({"nop", "flush", "barrier", "sem_acquire", "sem_release"})


class Span(NamedTuple):
    """Consecutive units of a GPU's buffer."""

    gpu: int
    buffer: Buffer
    first: int
    size: int


class Channel(NamedTuple):
    kind: str
    gpu: int
    peer: int
    number: int

    @property
    def other(self) -> Channel:
        return Channel(self.kind, self.peer, self.gpu, self.number)


class Operation(NamedTuple):
    """One operation; `where` is its place in the file.

    A copy has a write for each read, or one read for all; a sum adds all reads into each write.
    `channels`: of signals, waits and puts with a signal; `numbers`: semaphores or the barrier,
    where `blocks` thread blocks meet.
    """

    where: str
    kind: str
    reads: tuple[Span, ...] = ()
    writes: tuple[Span, ...] = ()
    channels: tuple[Channel, ...] = ()
    numbers: tuple[int, ...] = ()
    blocks: int = 0


class Gpu(NamedTuple):
    id: int
    input_chunks: int
    output_chunks: int
    scratch_chunks: int
    semaphores: tuple[int, ...]
    blocks: tuple[tuple[Operation, ...], ...]


class Plan(NamedTuple):
    where: str
    name: str
    collective: str
    in_place: bool
    units: int
    gpus: tuple[Gpu, ...]
