"""An MSCCL program, one class per element of its XML.

A thread block runs its steps in order, sends to at most one GPU and receives from one, on one
channel.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Buffer = Literal["i", "o", "s"]
StepKind = Literal["s", "r", "rcs", "rrs", "rrc", "rrcs", "cpy", "re", "nop"]

BUFFERS: dict[str, str] = {"i": "input", "o": "output", "s": "scratch"}
RECEIVES = frozenset({"r", "rcs", "rrs", "rrc", "rrcs"})
SENDS = frozenset({"s", "rcs", "rrs", "rrcs"})
REDUCES = frozenset({"rrs", "rrc", "rrcs", "re"})
READS_SOURCE = frozenset({"s", "rrs", "rrc", "rrcs", "cpy", "re"})
READS_DESTINATION = frozenset({"re"})
WRITES = frozenset({"r", "rcs", "rrc", "rrcs", "cpy", "re"})
KINDS: dict[str, str] = {
    "s": "send",
    "r": "receive",
    "rcs": "receive, copy, send",
    "rrs": "receive, reduce, send",
    "rrc": "receive, reduce, copy",
    "rrcs": "receive, reduce, copy, send",
    "cpy": "copy",
    "re": "reduce",
    "nop": "wait",
}


class Place(NamedTuple):
    buffer: Buffer
    offset: int


class Dependency(NamedTuple):
    block: int
    step: int


class Step(NamedTuple):
    line: int
    number: int
    kind: StepKind
    source: Place
    destination: Place
    chunks: int
    dependency: Dependency | None
    signals: bool


class ThreadBlock(NamedTuple):
    """`send` and `receive` are GPUs, or None."""

    line: int
    id: int
    send: int | None
    receive: int | None
    channel: int
    steps: tuple[Step, ...]


class Gpu(NamedTuple):
    line: int
    id: int
    input_chunks: int
    output_chunks: int
    scratch_chunks: int
    blocks: tuple[ThreadBlock, ...]


class Program(NamedTuple):
    """`in_place` and `out_of_place` are the calls it is for; `where` begins messages; `text` is the
    file, which upstream stores in traces.
    """

    where: str
    text: str
    name: str
    collective: str
    in_place: bool
    out_of_place: bool
    channels: int
    gpus: tuple[Gpu, ...]
