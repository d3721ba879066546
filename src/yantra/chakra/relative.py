"""Traces with named groups (`pg_name`) and peers as expressions (`comm_peer`): one for many
ranks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from yantra import _core
from yantra.base.errors import TraceError
from yantra.chakra.schema import CollectiveType, NodeType
from yantra.chakra.trace import Trace

_PARTS = 64  # of a trace, in each of which activations have a peak
_WORD = 1 << 64


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


def totals_of(trace: Trace, parts: int = _PARTS) -> Totals:
    sums = Sums()
    found = sums.add(trace, parts)
    return sums.totals()._replace(
        activations_peak_bytes=found.activations_peak, activations=tuple(found.activations)
    )


class Sums:
    """Totals of a trace that comes in pieces, and has no activations."""

    def __init__(self) -> None:
        self._nodes = 0
        self._compute: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._moved: defaultdict[tuple[int, int, str], Counter[str]] = defaultdict(Counter)

    def add(self, piece: Trace, parts: int = 1) -> _core.Totals:
        found = _core.totals(piece.native, parts)
        self._nodes += len(piece)
        for one in found.compute:
            row = {"nodes": one.count, "operations": one.operations, "size_bytes": one.bytes}
            self._compute[one.op_class, one.phase].update(row)
        for sum_ in found.communication:
            row = {"nodes": sum_.count, "size_bytes": sum_.bytes}
            self._moved[sum_.type, sum_.comm_type, sum_.group].update(row)
        return found

    def totals(self) -> Totals:
        return Totals(
            self._nodes,
            tuple(
                Compute(op_class, phase, **_wrapped(row))
                for (op_class, phase), row in sorted(self._compute.items())
            ),
            tuple(
                Communication(_kind(type, comm_type), group, **_wrapped(row))
                for (type, comm_type, group), row in sorted(self._moved.items())
            ),
            0,
            (0,) * min(_PARTS, self._nodes),
        )


def _wrapped(row: Mapping[str, int]) -> dict[str, int]:
    return {name: value % _WORD for name, value in row.items()}


def _kind(type: int, comm_type: int) -> str:
    if type != NodeType.COMM_COLL:
        return "send" if type == NodeType.COMM_SEND else "receive"
    known = {int(kind): kind.name.lower() for kind in CollectiveType}
    return known.get(comm_type, f"comm_type {comm_type}")
