"""What one rank does for one micro-batch: the form between the operator graph and the step.

The graph side (models, sharding, backward) makes one `StageWork` for each chunk of layers a device
holds; the step side repeats its passes in the order of a pipeline schedule and adds what happens
once per step. All sizes are those of one rank, whole numbers of bytes, elements and operations (one
multiply-accumulate is two).

Trade-off: an operation is one flat tuple with the fields of every kind, not a class per kind; a
stage of a large model has a few thousand of them and they are only read.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from yantra.chakra import CollectiveType

Phase = Literal["forward", "dgrad", "wgrad", "recompute", "optimizer"]
Domain = Literal["dense", "expert", "table"]


class Operation(NamedTuple):
    """One computation, collective, send or receive.

    A collective has `collective`, a send or receive has `peer`; anything else computes. `after` are
    positions in the same pass whose results it needs. `unit` is the part of the model it belongs
    to (`embedding`, `layers.3`, `head`): what is sharded, prefetched and reduced together.
    """

    name: str
    kind: str
    """What it is in one word: gemm, attention, norm, elementwise, gather, all_gather, send, ..."""
    phase: Phase
    unit: str
    after: tuple[int, ...] = ()
    tensor_flops: int = 0
    """Floating-point operations of matrix units."""
    vector_flops: int = 0
    """Floating-point operations of vector units."""
    repeated_flops: int = 0
    """Part of `tensor_flops` that repeats the forward's inside this kernel (fused attention)."""
    bytes_read: int = 0
    bytes_written: int = 0
    shape: tuple[int, ...] = ()
    """(m, n, k) of a matrix product, times what is repeated in front: (batch, m, n, k)."""
    sizes: tuple[tuple[str, int], ...] = ()
    """Other sizes of the kernel, as (name, number) pairs: see `yantra.compute.model.Kernels`."""
    dtype: str = "bf16"
    collective: CollectiveType | None = None
    group: str = ""
    """Name of the communicator of a collective, as in `grid.py`."""
    size_bytes: int = 0
    """Of a collective: the input of one rank (all-gather: its shard). Of a send: the message."""
    peer: str = ""
    """The other end of a send or receive, relative: `cp+1`."""
    tag: int = 0
    """Tells messages of one pass between the same ranks apart."""
    saves: int = 0
    """Bytes of activations that this operation makes and a later pass needs."""
    frees: int = 0
    """Bytes of saved activations that nothing needs after this operation."""

    def called(self, name: str, unit: str) -> Operation:
        """Return the same operation with another name and unit; faster than `_replace`."""
        return _make(Operation, (name, self.kind, self.phase, unit, *self[_BEHIND_UNIT:]))

    def placed(self, phase: Phase, after: tuple[int, ...]) -> Operation:
        """Return the same operation in a phase and behind others, likewise."""
        return _make(
            Operation, (self.name, self.kind, phase, self.unit, after, *self[_BEHIND_AFTER:])
        )

    def marked(self, saves: int, frees: int) -> Operation:
        """Return the same operation that saves and frees so many bytes more, likewise."""
        return _make(Operation, (*self[:_SAVES], self.saves + saves, self.frees + frees))

    @property
    def communicates(self) -> bool:
        """True for collectives, sends and receives."""
        return self.collective is not None or bool(self.peer)


_make = tuple.__new__
_BEHIND_UNIT = Operation._fields.index("unit") + 1
_BEHIND_AFTER = Operation._fields.index("after") + 1
_SAVES = Operation._fields.index("saves")


class Weight(NamedTuple):
    """A trained or a frozen tensor, or the part of it that this rank holds before any sharding.

    `domain` says which ranks hold the same part: `dense` over data and context parallelism,
    `expert` over expert data parallelism. A `table` lies like experts and is updated where its rows
    are looked up: no gradient of it is kept or reduced, and no optimizer visits it. `partial_over`
    names the groups whose gradients must be added as well (tp where a replicated weight saw a part
    of the sequence).
    """

    name: str
    unit: str
    elements: int
    domain: Domain = "dense"
    partial_over: tuple[str, ...] = ()
    is_tied: bool = False
    """Shared by embedding and head, whose gradients are added over the group `embedding`."""
    is_frozen: bool = False
    """It is read, and not trained: no gradient, no state of an optimizer."""
    packs: bool = False
    """Formats with scales for blocks pack it: a product's, but for the head's and a router's."""


class Pass(NamedTuple):
    """Operations in the order in which the rank issues them.

    `entries` are positions of the operations that use the tensor from the neighbouring stage,
    `exit` the position of the one whose result goes to the next; None where the pass ends here.
    """

    operations: tuple[Operation, ...]
    entries: tuple[int, ...] = ()
    exit: int | None = None


class StageWork(NamedTuple):
    """One chunk of layers on one rank, for one micro-batch.

    The backward pass holds operations of the phases dgrad, wgrad and recompute in the order of a
    joint backward. A schedule that separates weight gradients takes those of the phase wgrad as a
    pass of its own; none of the others depends on them. `input_bytes` and `output_bytes` are the
    tensors that cross to the neighbouring stages (and their gradients back), 0 at the ends.
    """

    forward: Pass
    backward: Pass
    weights: tuple[Weight, ...]
    input_bytes: int = 0
    output_bytes: int = 0
