"""Turns operators into operations, with the collectives of placements."""

from __future__ import annotations

from collections.abc import Container, Iterable

from yantra.chakra import CollectiveType
from yantra.workloads.operators.graph.graph import Graph, Operator, Use
from yantra.workloads.operators.graph.reshard import Move
from yantra.workloads.operators.graph.tensor import Placement, Tensor
from yantra.workloads.operators.operations import Operation, Phase

Key = tuple[int, Placement]
"""Tensor number, placement."""

_SUMS = (CollectiveType.ALL_REDUCE, CollectiveType.REDUCE_SCATTER)
EXTERNAL = -1
"""The position of what a neighbouring stage sends during the pass."""


class Emitter:
    """`values` maps what exists to its maker's position: None for an earlier pass's, EXTERNAL for
    another stage's.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.operations: list[Operation] = []
        self.values: dict[Key, int | None] = {}
        self.made_for_weights: dict[Key, int | None] = {}
        self.entries: set[int] = set()
        self._summed: int | None = None
        self._placements: dict[int, list[Placement]] = {}
        self._tags = 0
        self._overlaps_sums = graph.setting.overlap_tensor

    def append(self, operation: Operation) -> int:
        """Add an operation; a collective that waits for nothing starts after the last compute."""
        if operation.collective is not None and not operation.after:
            compute = self._last_compute(of_weights=operation.phase == "wgrad")
            if compute is not None:
                operation = operation._replace(after=(compute,))
        if not self._overlaps_sums:
            operation = self._behind_sums(operation)
        self.operations.append(operation)
        return len(self.operations) - 1

    def _behind_sums(self, operation: Operation) -> Operation:
        if operation.phase == "dgrad" and operation.collective in _SUMS and operation.group == "tp":
            self._summed = len(self.operations)
        elif operation.phase == "wgrad" and self._summed is not None and not operation.communicates:
            return operation._replace(after=tuple(sorted({*operation.after, self._summed})))
        return operation

    def _last_compute(self, of_weights: bool) -> int | None:
        for at in range(len(self.operations) - 1, -1, -1):
            operation = self.operations[at]
            if not operation.communicates and (of_weights or operation.phase != "wgrad"):
                return at
        return None

    def provide(self, tensor: Tensor, position: int | None, placement: Placement) -> None:
        """A value exists from `position` on."""
        self.values[tensor.number, placement] = position
        self._placements.setdefault(tensor.number, []).append(placement)

    def forget_copies(self, kept: Container[Key]) -> None:
        for number, placements in self._placements.items():
            for placement in placements[1:]:
                if (number, placement) not in kept:
                    self.values.pop((number, placement), None)

    def available(self, use: Use, phase: Phase, unit: str) -> int | None:
        key = (use.tensor.number, use.placement)
        if key in self.values:
            return self.values[key]
        if phase == "wgrad" and key in self.made_for_weights:
            return self.made_for_weights[key]
        home = use.tensor.placement
        known_at = self._placements.get(use.tensor.number, [home])
        source = home if home in known_at else known_at[0]
        position = self.values.get((use.tensor.number, source))
        for move in self.graph.moves_of(use.tensor, source, use.placement):
            position = self._move(use.tensor, move, position, phase, unit)
        if phase == "wgrad":
            self.made_for_weights[key] = position
        else:
            self.provide(use.tensor, position, use.placement)
        return position

    def _move(
        self, tensor: Tensor, move: Move, position: int | None, phase: Phase, unit: str
    ) -> int:
        kind = move.type.name.lower()
        operation = Operation(
            f"{tensor.name}.{kind}", kind, phase, unit,
            (position,) if position is not None and position >= 0 else (),
            collective=move.type, group=move.axis, size_bytes=move.size_bytes,
        )  # fmt: skip
        at = self.append(operation)
        if position == EXTERNAL:
            self.entries.add(at)
        return at

    def run(
        self, program: Iterable[Operation], waits: Iterable[int | None], phase: Phase | None = None
    ) -> int | None:
        known = sorted({at for at in waits if at is not None})
        is_external = bool(known) and known[0] == EXTERNAL  # less than any other
        inputs = tuple(known[1:] if is_external else known)
        position: int | None = known[-1] if known else None
        start = len(self.operations)
        tags = 0
        for operation in program:
            after = tuple([start + at for at in operation.after]) if operation.after else ()
            if not after and operation.kind != "recv":
                after = inputs
                if is_external:
                    self.entries.add(len(self.operations))
            placed = operation.placed(phase or operation.phase, after)
            if operation.peer:
                tags = max(tags, operation.tag + 1)
                placed = placed._replace(tag=operation.tag + self._tags)
            elif operation.tag:
                placed = placed._replace(tag=0)
            position = self.append(placed)
        self._tags += tags
        return position

    def forward(self, operator: Operator, phase: Phase) -> None:
        waits = [self.available(use, phase, operator.unit) for use in operator.inputs]
        position = self.run(operator.program, waits, phase)
        for tensor in operator.outputs:
            self.provide(tensor, position, tensor.placement)
