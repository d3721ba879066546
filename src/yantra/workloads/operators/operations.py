"""What one rank does for one micro-batch: between the operator graph and the step.

Sizes are one rank's, in whole bytes, elements and operations (a multiply-accumulate is two).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from yantra.chakra import CollectiveType

Phase = Literal["forward", "dgrad", "wgrad", "recompute", "optimizer"]
Domain = Literal["dense", "expert", "table"]


class Operation(NamedTuple):
    """One computation, collective (`collective`), send or receive (`peer`).

    `after` are positions in the pass whose results it needs.
    """

    name: str
    kind: str
    """gemm, attention, norm, elementwise, gather, all_gather, send, ..."""
    phase: Phase
    unit: str
    after: tuple[int, ...] = ()
    tensor_flops: int = 0
    """On matrix units."""
    vector_flops: int = 0
    """On vector units."""
    repeated_flops: int = 0
    """The part of `tensor_flops` that repeats the forward's inside this kernel (fused
    attention)."""
    bytes_read: int = 0
    bytes_written: int = 0
    shape: tuple[int, ...] = ()
    """(m, n, k) of a matrix product, with repetitions in front: (batch, m, n, k)."""
    sizes: tuple[tuple[str, int], ...] = ()
    """Other (name, number) sizes of the kernel: see `yantra.compute.model.Kernels`."""
    dtype: str = "bf16"
    collective: CollectiveType | None = None
    group: str = ""
    """A collective's communicator, as in `grid.py`."""
    size_bytes: int = 0
    """Of a collective: one rank's input (all-gather: its shard). Of a send: the message."""
    peer: str = ""
    """The other end of a message, relative: `cp+1`."""
    tag: int = 0
    """Distinguishes messages of a pass between the same ranks."""
    saves: int = 0
    """Bytes of activations made here and needed by a later pass."""
    frees: int = 0
    """Bytes of saved activations not needed after this."""

    def called(self, name: str, unit: str) -> Operation:
        return _make(Operation, (name, self.kind, self.phase, unit, *self[_BEHIND_UNIT:]))

    def placed(self, phase: Phase, after: tuple[int, ...]) -> Operation:
        return _make(
            Operation, (self.name, self.kind, phase, self.unit, after, *self[_BEHIND_AFTER:])
        )

    def marked(self, saves: int, frees: int) -> Operation:
        """The same, saving and freeing more bytes."""
        return _make(Operation, (*self[:_SAVES], self.saves + saves, self.frees + frees))

    @property
    def communicates(self) -> bool:
        return self.collective is not None or bool(self.peer)


_make = tuple.__new__
_BEHIND_UNIT = Operation._fields.index("unit") + 1
_BEHIND_AFTER = Operation._fields.index("after") + 1
_SAVES = Operation._fields.index("saves")


class Weight(NamedTuple):
    """By `domain` data and context parallelism (`dense`) or expert data parallelism (`expert`) have
    the same part. A `table`, placed like experts, is updated at lookup: no gradient is kept or
    reduced, no optimizer visits it. `partial_over` names groups whose gradients are added too (tp
    where a replicated weight saw part of the sequence).
    """

    name: str
    unit: str
    elements: int
    domain: Domain = "dense"
    partial_over: tuple[str, ...] = ()
    is_tied: bool = False
    """Shared by embedding and head, whose gradients are added over the group `embedding`."""
    is_frozen: bool = False
    """Not trained: no gradient, no optimizer state."""
    packs: bool = False
    """Formats with block scales pack it: products, except the head's and a router's."""
    shape: int = 0
    """Elements of one gradient, where a trained product makes it."""


class Pass(NamedTuple):
    """`entries` are positions that use the previous stage's tensor, `exit` the one whose result
    goes on; None where the pass ends here.
    """

    operations: tuple[Operation, ...]
    entries: tuple[int, ...] = ()
    exit: int | None = None


class StageWork(NamedTuple):
    """`input_bytes` and `output_bytes` cross to the neighbouring stages (their gradients back), 0
    at the ends.
    """

    forward: Pass
    backward: Pass
    weights: tuple[Weight, ...]
    input_bytes: int = 0
    output_bytes: int = 0
    waits: tuple[tuple[str, int], ...] = ()
    """Units, with the bytes saved for their gradients that wait in the host's memory."""
