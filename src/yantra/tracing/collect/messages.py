"""A PyTorch communication operator: collective, bytes, peer.

Sizes are ASTRA-sim's `comm_size`, per rank: the whole buffer of all-reduce, all-to-all, broadcast,
reduce; the whole input of reduce-scatter and scatter's root; the share in all-gather, gather; a
send's message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

OPERATORS: Mapping[str, tuple[str, str]] = {
    # operator: (collective, argument with its bytes)
    "allreduce_": ("all_reduce", "tensors"),
    "allreduce_coalesced_": ("all_reduce", "tensors"),
    "allgather_": ("all_gather", "input_tensors"),
    "_allgather_base_": ("all_gather", "input_tensor"),
    "allgather_coalesced_": ("all_gather", "input_list"),
    "allgather_into_tensor_coalesced_": ("all_gather", "inputs"),
    "reduce_scatter_": ("reduce_scatter", "input_tensors"),
    "_reduce_scatter_base_": ("reduce_scatter", "input_tensor"),
    "reduce_scatter_tensor_coalesced_": ("reduce_scatter", "inputs"),
    "alltoall_": ("all_to_all", "input_tensors"),
    "alltoall_base_": ("all_to_all", "input"),
    "broadcast_": ("broadcast", "tensors"),
    "reduce_": ("reduce", "tensors"),
    "gather_": ("gather", "input_tensors"),
    "scatter_": ("scatter", "output_tensors"),
    "barrier": ("barrier", ""),
    "monitored_barrier_": ("barrier", ""),
    "send": ("send", "tensors"),
    "recv_": ("recv", "tensors"),
    "recv_any_source_": ("recv", "tensors"),
}
_PEER = ("dst", "src", "root_rank")  # ranks, as places in the group
BLOCKING = frozenset({"monitored_barrier_"})  # end with the communication
POINT_TO_POINT = frozenset({"send", "recv"})


class Message(NamedTuple):
    """A rank's part; `peer` is a place in the group (the root of a rooted collective), or None."""

    op: str
    bytes: int
    dtype: str
    peer: int | None
    tag: int | None
    asynchronous: bool


def arguments(schema: Any, values: Sequence[Any]) -> dict[str, Any]:
    named = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    return named | {a.name: v for a, v in zip(schema.arguments, values, strict=False)}


def message(operator: str, given: Mapping[str, Any], group_size: int) -> Message:
    op, holder = OPERATORS[operator]
    carried = list(tensors(given[holder])) if holder else []
    size = sum(t.numel() * t.element_size() for t in carried)
    peers = [given[name] for name in _PEER if name in given]
    return Message(
        op=op,
        bytes=size * group_size if op == "scatter" else size,
        dtype=str(carried[0].dtype).removeprefix("torch.") if carried else "",
        peer=peers[0] if peers else None,
        tag=given.get("tag"),
        asynchronous=bool(given.get("async_op", op in POINT_TO_POINT)),
    )


def results(given: Mapping[str, Any]) -> Iterator[Any]:
    for name in ("tensors", "output_tensors", "output_tensor", "outputs", "output", "output_lists"):
        yield from tensors(given.get(name))


def tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from tensors(part)
    elif value is not None:
        yield value
