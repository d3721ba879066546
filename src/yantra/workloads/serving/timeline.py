"""One rank's template: blocks one after the other, tied to what came before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from yantra.chakra.passes import PassEncoder, Segment
from yantra.chakra.trace import Trace
from yantra.workloads.operators.operations import Operation
from yantra.workloads.templates import Edge, TemplateBuilder
from yantra.workloads.training.step.draft import Item


class Event(NamedTuple):
    kind: str
    size_bytes: int
    group: str = ""
    peer: str = ""
    tag: int = 0


class Timeline:
    """Collects the nodes of one class of ranks."""

    def __init__(self) -> None:
        self.builder = TemplateBuilder()
        self.events: list[Event] = []
        self._computed: int | None = None
        self._communicated: dict[str, int] = {}

    def add(
        self,
        segment: Segment,
        items: Iterable[Item],
        edges: Iterable[Edge] = (),
        *,
        number: int,
        tag_base: int,
    ) -> int:
        ties = list(edges)
        if self._computed is not None:
            if segment.first_compute is not None:
                ties.append((segment.first_compute, self._computed, True))
            ties += [(at, self._computed, True) for at in segment.starts]
        chains = segment.chains
        for group, begins, _ in chains:
            if group in self._communicated:
                ties.append((begins, self._communicated[group], True))
        unique = {(at, id): (at, id, is_control) for at, id, is_control in reversed(ties)}
        first = self.builder.stamp(
            Trace.from_native(segment.block),
            list(unique.values()),
            microbatch=number,
            tag_base=tag_base,
        )
        if segment.last_compute is not None:
            self._computed = first + segment.last_compute
        for group, _, ends in chains:
            self._communicated[group] = first + ends
        self.events += [
            _event(item.operation, tag_base) for item in items if item.operation.communicates
        ]
        return first

    def messages(
        self, operations: Iterable[Operation], after: Iterable[int | None], *, number: int
    ) -> list[int]:
        items = tuple(Item(key, operation) for key, operation in enumerate(operations))
        if not items:
            return []
        segment = PassEncoder().encode((items,), 0).segments[0]
        edges = [(at, id, False) for at, id in enumerate(after) if id is not None]
        first = self.add(segment, items, edges, number=number, tag_base=0)
        return list(range(first, first + len(items)))


def _event(operation: Operation, tag_base: int) -> Event:
    kind = operation.kind
    if operation.collective is not None:
        return Event(kind, operation.size_bytes, group=operation.group)
    return Event(kind, operation.size_bytes, peer=operation.peer, tag=operation.tag + tag_base)
