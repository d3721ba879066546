"""Traces whose groups are names and whose peers are expressions: one stands for many ranks.

A collective of such a trace has a group's name as `pg_name`, a send or receive has an expression as
`comm_peer` in place of `comm_src` and `comm_dst`. What they mean, the caller knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from yantra import _core
from yantra.base.errors import TraceError
from yantra.chakra.schema import CollectiveType, NodeType
from yantra.chakra.trace import Trace


class Names(NamedTuple):
    """What the nodes of a trace name, in order of first appearance."""

    groups: tuple[str, ...]
    peers: tuple[str, ...]


class Meaning(NamedTuple):
    """What names mean for one rank: ids of groups, ranks of peers."""

    rank: int
    groups: Mapping[str, int]
    peers: Mapping[str, int]


class Compute(NamedTuple):
    """Computations of one class and phase; empty texts where the nodes say neither."""

    op_class: str
    phase: str
    nodes: int
    operations: int
    size_bytes: int


class Communication(NamedTuple):
    """Collectives of one type and group, or sends, or receives."""

    kind: str
    group: str
    nodes: int
    size_bytes: int


class Totals(NamedTuple):
    """What the nodes of a trace add up to.

    `activations` are the bytes of `act_alloc` not yet freed by `act_free`, along the file: the
    highest in each of up to `parts` equal parts of it.
    """

    nodes: int
    compute: tuple[Compute, ...]
    communication: tuple[Communication, ...]
    activations_peak_bytes: int
    activations: tuple[int, ...]


def names_of(trace: Trace) -> Names:
    """Return the groups and peers that a trace names."""
    names = _core.relative_names(trace.native)
    return Names(tuple(names.groups), tuple(names.peers))


def resolve(trace: Trace, meaning: Meaning, where: str = "trace") -> Trace:
    """Return the trace of one rank; raise TraceError for a name that has no meaning."""
    groups = {name: str(number) for name, number in meaning.groups.items()}
    try:
        native = _core.resolve(trace.native, meaning.rank, groups, dict(meaning.peers))
    except ValueError as error:
        raise TraceError(f"{where}: {error}") from None
    return Trace.from_native(native)


def collectives_in_order(trace: Trace) -> Trace:
    """Return the trace with each collective waiting for the one before it in the file.

    ASTRA-sim gives a rank one communication slot: ranks that take two ready collectives in
    different order would wait for each other forever.
    """
    return Trace.from_native(_core.with_collectives_in_order(trace.native))


def totals_of(trace: Trace, parts: int = 64) -> Totals:
    """Add up the nodes of a trace."""
    totals = _core.totals(trace.native, parts)
    return Totals(
        len(trace),
        tuple(
            Compute(sum_.op_class, sum_.phase, sum_.count, sum_.operations, sum_.bytes)
            for sum_ in totals.compute
        ),
        tuple(
            Communication(_kind(sum_.type, sum_.comm_type), sum_.group, sum_.count, sum_.bytes)
            for sum_ in totals.communication
        ),
        totals.activations_peak,
        tuple(totals.activations),
    )


def _kind(type: int, comm_type: int) -> str:
    if type != NodeType.COMM_COLL:
        return "send" if type == NodeType.COMM_SEND else "receive"
    known = {int(kind): kind.name.lower() for kind in CollectiveType}
    return known.get(comm_type, f"comm_type {comm_type}")
