"""The buffers of the GPUs: which places of a program are the same memory.

In place as in NCCL: an all-gather's input is the GPU's shard of the output, a reduce-scatter's
output its shard of the input, else both are one.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.collectives.msccl.program import BUFFERS, Gpu, Place, Program

MOST_CHUNKS = 1 << 22  # the proof holds a value for each

_SHARD_IN = {"allgather": "o", "reducescatter": "i"}


class Spot(NamedTuple):
    gpu: int
    buffer: str
    chunk: int


class Memory:
    def __init__(self, program: Program, collective: str, in_place: bool) -> None:
        self.program = program
        self.ranks = len(program.gpus)
        self.shared = in_place and collective not in ("custom", "alltonext")
        self.whole = _SHARD_IN.get(collective, "i") if self.shared else ""
        self.sharded = collective in _SHARD_IN and self.shared
        self.chunks = {gpu.id: self._chunks(gpu) for gpu in program.gpus}
        held = sum(sum(sizes.values()) for sizes in self.chunks.values())
        if held > MOST_CHUNKS:
            raise ConfigError(
                program.where,
                f"the buffers have {held} chunks; a proof holds each, and at most {MOST_CHUNKS}",
            )

    def spot(self, gpu: int, place: Place, index: int) -> Spot | None:
        """The memory of a place's chunk, None beyond the buffer."""
        buffer: str = place.buffer
        chunk = place.offset + index
        if self.shared and buffer != "s" and buffer != self.whole:
            if not 0 <= chunk < self.chunks[gpu][buffer]:
                return None
            chunk += gpu * self.shard(gpu) if self.sharded else 0
            buffer = self.whole
        return Spot(gpu, buffer, chunk) if 0 <= chunk < self.chunks[gpu][buffer] else None

    def shard(self, gpu: int) -> int:
        return self.chunks[gpu][self.whole] // self.ranks

    def describe(self, gpu: int, place: Place) -> str:
        name = BUFFERS[place.buffer]
        return f"the {name} buffer of GPU {gpu}, which has {self.chunks[gpu][place.buffer]} chunks"

    def _chunks(self, gpu: Gpu) -> dict[str, int]:
        sizes = {"i": gpu.input_chunks, "o": gpu.output_chunks, "s": gpu.scratch_chunks}
        if not self.shared:
            return sizes
        part = "o" if self.whole == "i" else "i"
        if self.sharded:
            sizes[part] = sizes[self.whole] // self.ranks
        else:
            sizes["i"] = sizes["o"] = max(sizes["i"], sizes["o"])
        return sizes
