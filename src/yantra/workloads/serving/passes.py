"""A stage's forward pass as a block of nodes."""

from __future__ import annotations

from typing import NamedTuple

from yantra.chakra.passes import PassEncoder, Segment
from yantra.workloads.operators.graph.operators.sampling import TOKEN_BYTES
from yantra.workloads.operators.operations import Operation, StageWork
from yantra.workloads.training.step.draft import Draft, Item, Wait, items_of

TENSOR_TAG, TOKEN_TAG, TAGS = 0, 1, 2
"""Tags of a forward pass, counted from `TAGS` times its number."""
_KEEPING = ("attention", "scan")
"""Operations that leave something for the next token."""


class Ends(NamedTuple):
    """What a pass exchanges: bytes of the tensor in and out (0: none), tokens in and out."""

    tensor_in: int = 0
    tensor_out: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    lanes: int = 1


class Block(NamedTuple):
    """An encoded pass: `first` and `last` are positions of its first and last operation."""

    segment: Segment
    items: tuple[Item, ...]
    first: int
    last: int
    after_layer: dict[str, int]


def block_of(made: StageWork, ends: Ends) -> Block:
    forward = made.forward
    draft = Draft(forward.operations)
    if ends.tensor_in:
        key = draft.put_first(_message("recv", "pp-1", TENSOR_TAG, ends.tensor_in))
        for entry in forward.entries:
            draft.wait(entry, Wait(key))
    if ends.tokens_in:
        size = TOKEN_BYTES * ends.tokens_in
        draft.wait(0, Wait(draft.put_first(_message("recv", "pp-1", TOKEN_TAG, size))))
    last = len(forward.operations) - 1
    if ends.tensor_out:
        exit = last if forward.exit is None else forward.exit
        draft.put_last(_message("send", "pp+1", TENSOR_TAG, ends.tensor_out), Wait(exit))
    if ends.tokens_out:
        tag = TOKEN_TAG + TAGS * ends.lanes
        size = TOKEN_BYTES * ends.tokens_out
        draft.put_last(_message("send", "pp+1", tag, size), Wait(last))
    parts = draft.parts()
    encoded = PassEncoder().encode((parts,), 0)
    place = [position for _, position in encoded.places]
    kept = {operation.unit: place[key] for key, operation in enumerate(forward.operations)}
    kept |= {
        operation.unit: place[key]
        for key, operation in enumerate(forward.operations)
        if operation.kind in _KEEPING
    }
    return Block(encoded.segments[0], items_of(parts), place[0], place[last], kept)


def _message(kind: str, peer: str, tag: int, size: int) -> Operation:
    name = "tokens" if tag % TAGS == TOKEN_TAG else "tensor"
    return Operation(f"{kind} {name}", kind, "forward", "", size_bytes=size, peer=peer, tag=tag)
