"""Communication of other libraries than NCCL, RCCL and gloo, by their names.

They record no calls. A device op becomes a collective only with proof: a kernel of a known name, or
the one kernel of a known operator; size from the operator's first tensor; members from a named
group, or because all groups of this rank agree. Otherwise it stays a computation of its recorded
duration, reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from yantra.chakra.schema import CollectiveType, NodeType
from yantra.tracing.pytorch.calls import Calls
from yantra.tracing.pytorch.communication import Communication, Found, find, issue
from yantra.tracing.pytorch.communication_names import UNSIZED, CommunicationNames, collective_kind
from yantra.tracing.pytorch.linked import DeviceOp, Linked, Operator
from yantra.tracing.pytorch.linked_columns import names_of, objects
from yantra.tracing.pytorch.tensors import decoded, value_bytes

_HIGHEST = 12  # operators above a device op that may be its call
_DIRECT = "direct"  # NCCL's and these do not wait for each other


class Unrecognised(Struct):
    """Device ops of one name that communicate but stay computations."""

    kind: str
    count: int = 0
    ns: int = 0


class AllFound(Struct):
    """A rank's communications in issue order, and what was unclear.

    `unsized`: other ranks may know the size. `kept`: kinds of those that stay computations of
    recorded duration.
    """

    items: list[Communication]
    unknown: Counter[str]
    unrecognised: dict[str, Unrecognised]
    unsized: dict[int, DeviceOp]
    kept: dict[int, str]

    def leave_unsized(self) -> None:
        """After comparing ranks, add what stays unsized to `unrecognised`."""
        for item in self.items:
            if item.type is NodeType.COMP:
                kind = UNSIZED if item.collective is None else item.collective.name.lower()
                self.kept[item.op] = kind
                if item.op in self.unsized:
                    _leave(self.unrecognised, kind, self.unsized[item.op])


def find_all(linked: Linked, calls: Calls, names: CommunicationNames) -> AllFound:
    found = find(linked, calls)
    others = _Others(linked, calls, names, found)
    others.complete(found.items)
    made = others.collectives()
    ids = {item.op for item in (*found.items, *made)}
    order = {op.id: issue(op) for op in linked.device_ops if op.id in ids}
    items = sorted([*found.items, *made], key=lambda item: order[item.op])
    lacking = {item.op for item in items if item.bytes is None}
    lost = [op for op in linked.device_ops if op.id in lacking] if lacking else []
    unsized = {op.id: op for op in objects(lost, DeviceOp)}
    for op in linked.device_ops if found.unknown else ():
        if op.name in found.unknown and op.id not in others.known:
            others.kept[op.id] = UNSIZED
    return AllFound(items, found.unknown, others.unrecognised, unsized, others.kept)


class _Others:
    def __init__(
        self, linked: Linked, calls: Calls, names: CommunicationNames, found: Found
    ) -> None:
        self.linked = linked
        self.operators = calls.by_id
        self.names = names
        self.known = {item.op for item in found.items}
        self.unknown = found.unknown
        self.kernels = Counter(op.parent for op in linked.device_ops if op.cat == "kernel")
        self.unrecognised: dict[str, Unrecognised] = {}
        self.kept: dict[int, str] = {}

    def complete(self, items: list[Communication]) -> None:
        unexplained = {item.op for item in items if item.key < 0 and item.bytes is None}
        ops = self.linked.device_ops if unexplained else ()
        parents = {op.id: op.parent for op in ops if op.id in unexplained}
        for item in items:
            call = next(self._around(parents.get(item.op)), None)
            group = None if call is None else self._group(call)
            if call is None or group is None or self._kind(call) is not item.collective:
                continue
            item.bytes = _operand_bytes(call) or None
            item.group, item.ranks = item.group or group[0], item.ranks or group[1]

    def collectives(self) -> list[Communication]:
        made: list[Communication] = []
        served: set[int] = set()  # operators with communication below
        rest: list[tuple[DeviceOp, Operator]] = []
        for op in self._candidates():
            around = list(self._around(op.parent))
            told = self._told(op)
            if told is not None and (collective := self._collective(op, told, around)):
                made.append(collective)
            elif told is not None:
                self._keep(told, op)
            if told is not None or op.id in self.known or op.name in self.unknown:
                served |= {operator.id for operator in around}
            elif around:
                rest.append((op, around[-1]))
        for op, operator in rest:
            if operator.id not in served:
                told = self.names.of_operator(operator.name) or UNSIZED
                self._keep(told, op, operator.name)
        return made

    def _candidates(self) -> Iterable[DeviceOp]:
        """Device ops of which a name, or one around them, may tell something."""
        ops = self.linked.device_ops
        if any(self.names.of_operator(name) for name in names_of(self.linked.operators)):
            return ops
        told = {name for name in names_of(ops) if self.names.of_kernel(name) is not None}
        return [op for op in ops if op.name in told] if told else ()

    def _keep(self, kind: str, op: DeviceOp, name: str = "") -> None:
        self.kept[op.id] = kind
        _leave(self.unrecognised, kind, op, name)

    def _told(self, op: DeviceOp) -> str | None:
        if op.cat != "kernel" or op.id in self.known or op.name in self.unknown:
            return None
        told = self.names.of_kernel(op.name)
        operator = None if op.parent is None else self.operators.get(op.parent)
        if operator is not None and self.kernels[op.parent] == 1:
            return self.names.of_operator(operator.name) or told
        return told

    def _around(self, id: int | None) -> Iterator[Operator]:
        at = id
        for _ in range(_HIGHEST):
            operator = None if at is None else self.operators.get(at)
            if operator is None:
                return
            if self.names.of_operator(operator.name) is not None:
                yield operator
            at = operator.parent

    def _kind(self, call: Operator) -> CollectiveType | None:
        return collective_kind(self.names.of_operator(call.name) or UNSIZED)

    def _collective(self, op: DeviceOp, told: str, around: list[Operator]) -> Communication | None:
        kind = collective_kind(told)
        if kind is None or not around:
            return None
        call = around[0]
        if self.names.of_operator(call.name) == UNSIZED:
            return None
        size, group = _operand_bytes(call), self._group(call)
        if not size or group is None:
            return None
        name, ranks = group
        return Communication(
            op=op.id,
            type=NodeType.COMM_COLL,
            collective=kind,
            name=told.replace("_", ""),
            group=f"{name} {_DIRECT}".strip(),
            ranks=ranks,
            bytes=size,
            key=call.id,
        )

    def _group(self, call: Operator) -> tuple[str, tuple[int, ...]] | None:
        groups = [group for group in self.linked.groups if len(group.ranks) > 1]
        said = {value for value in decoded(call.inputs).values if isinstance(value, str)}
        for group in groups:
            if group.name in said:
                return group.name, tuple(group.ranks)
        members = {tuple(group.ranks) for group in groups}
        return ("", members.pop()) if len(members) == 1 else None


def _leave(into: dict[str, Unrecognised], kind: str, op: DeviceOp, name: str = "") -> None:
    entry = into.setdefault(name or short_name(op.name), Unrecognised(kind))
    entry.count += 1
    entry.ns += op.dur_ns


def short_name(kernel: str) -> str:
    name = kernel.removeprefix("void ").replace("(anonymous namespace)::", "")
    return name.split("<", 1)[0].split("(", 1)[0]


def _operand_bytes(call: Operator) -> int:
    # All these operators take the tensor first.
    io = decoded(call.inputs)
    sizes = (value_bytes(*pair) for pair in zip(io.values, io.types, strict=False))
    return next((size for size in sizes if size), 0)
