"""Traces with named groups (`pg_name`) and peers as expressions (`comm_peer`): one for many
ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from yantra import _core
from yantra.base.errors import TraceError
from yantra.chakra.schema import CollectiveType, NodeType
from yantra.chakra.trace import Trace


class Names(NamedTuple):
    """Names in a trace, by first appearance."""

    groups: tuple[str, ...]
    peers: tuple[str, ...]


class Meaning(NamedTuple):
    """Names' meaning for a rank: group ids, peer ranks."""

    rank: int
    groups: Mapping[str, int]
    peers: Mapping[str, int]


class Compute(NamedTuple):
    """Computations of a class and phase; "" if not stated."""

    op_class: str
    phase: str
    nodes: int
    operations: int
    size_bytes: int


class Communication(NamedTuple):
    """Collectives of a type and group, or sends, or receives."""

    kind: str
    group: str
    nodes: int
    size_bytes: int


class Totals(NamedTuple):
    """Totals of a trace.

    `activations`: bytes of `act_alloc` not yet freed by `act_free`, along the file: the highest in
    each of up to `parts` equal parts.
    """

    nodes: int
    compute: tuple[Compute, ...]
    communication: tuple[Communication, ...]
    activations_peak_bytes: int
    activations: tuple[int, ...]


def names_of(trace: Trace) -> Names:
    names = _core.relative_names(trace.native)
    return Names(tuple(names.groups), tuple(names.peers))


def resolve(trace: Trace, meaning: Meaning, where: str = "trace") -> Trace:
    groups = {name: str(number) for name, number in meaning.groups.items()}
    try:
        native = _core.resolve(trace.native, meaning.rank, groups, dict(meaning.peers))
    except ValueError as error:
        raise TraceError(f"{where}: {error}") from None
    return Trace.from_native(native)


def collectives_in_order(trace: Trace) -> Trace:
    return Trace.from_native(_core.with_collectives_in_order(trace.native))


def totals_of(trace: Trace, parts: int = 64) -> Totals:
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
