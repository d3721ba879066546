"""Operator graph -> the forward and the backward pass of one micro-batch.

The backward pass walks the operators in reverse. Gradients of a tensor used several times are added
as soon as the last of a placement is there, then brought to the tensor's dual placement: partial
sums are reduced once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from yantra.workloads.operators.graph.emit import EXTERNAL, Emitter, Key
from yantra.workloads.operators.graph.graph import Gradient, Graph, Operator, Use
from yantra.workloads.operators.graph.saved import (
    Saved,
    is_dropped,
    is_repeated,
    kept_outputs,
    made_again,
    part_of,
)
from yantra.workloads.operators.graph.tensor import Placement, Tensor
from yantra.workloads.operators.operations import Operation, Pass, Phase


class Passes:
    def __init__(self, graph: Graph, source: Tensor | None, result: Tensor | None) -> None:
        self.graph = graph
        self.source = source
        self.result = result
        self.saved = Saved(graph)

    def forward(self) -> Pass:
        emitter = Emitter(self.graph)
        if self.source is not None:
            emitter.provide(self.source, EXTERNAL, self.source.placement)
        for operator in self.graph.operators:
            emitter.forward(operator, "forward")
            if operator.keeps and not is_repeated(self.graph, operator):
                _mark(emitter.operations, len(emitter.operations) - 1, saves=operator.keeps)
        last = self.graph.operators[-1].unit
        exit = None
        if self.result is not None:
            home = Use(self.result, self.result.placement.dual())
            exit = emitter.available(home, "forward", last)
        for key, size in self.saved.sizes.items():
            use = Use(self.saved.tensors[key], key[1])
            position = emitter.available(use, "forward", last)
            _mark(emitter.operations, max(position or 0, 0), saves=size)
        return Pass(tuple(emitter.operations), tuple(sorted(emitter.entries)), exit)

    def backward(self) -> Pass:
        return Backward(self).run()

    def waits(self) -> tuple[tuple[str, int], ...]:
        return tuple(self.saved.waiting().items())


class Backward:
    """Walks the operators in reverse; use once."""

    def __init__(self, passes: Passes) -> None:
        self.graph = passes.graph
        self.source, self.result = passes.source, passes.result
        self.saved = passes.saved
        self.emitter = Emitter(self.graph)
        self.kept_forms: dict[int, list[Key]] = {}
        for key in (*self.saved.sizes, *self.saved.inside):
            self.kept_forms.setdefault(key[0], []).append(key)
        for key in self.saved.sizes:
            self.emitter.provide(self.saved.tensors[key], None, key[1])
        self.by_operators = self.graph.setting.recompute == "operators"
        self.parts: dict[str, list[Operator]] = {}
        self.dropped: dict[int, str] = {}
        self.pending: Counter[Key] = Counter()
        self.contributions: dict[Key, list[int | None]] = {}
        self.summed: dict[int, list[int | None]] = {}
        self.last_use: dict[Key, int] = {}
        for operator in self.graph.operators:
            if is_repeated(self.graph, operator):
                part = part_of(self.graph, operator)
                self.parts.setdefault(part, []).append(operator)
                if is_dropped(self.graph, operator):
                    self.dropped |= {out.number: part for out in operator.outputs}
            for gradient in operator.gradients:
                for at, placement in gradient.gives:
                    self.pending[operator.inputs[at].tensor.number, placement] += 1

    def run(self) -> Pass:
        if self.result is not None:
            self.summed[self.result.number] = [EXTERNAL]
        for operator in reversed(self.graph.operators):
            for gradient in operator.gradients if self.dropped else ():
                self._make_dropped(gradient.needs)
            if is_repeated(self.graph, operator) or self.by_operators:
                self._repeat(self.parts.pop(part_of(self.graph, operator), []))
            self._gradients(operator)
        exit = None
        if self.source is not None:
            exit = self._gradient_of(self.source, self.graph.operators[0].unit)
        for key, position in self.last_use.items():
            size = self.saved.sizes.get(key) or self.saved.inside.get(key, 0)
            _mark(self.emitter.operations, position, frees=size)
        entries = tuple(sorted(self.emitter.entries))
        return Pass(tuple(self.emitter.operations), entries, exit)

    def _make_dropped(self, uses: Sequence[Use]) -> None:
        parts = [self.dropped.get(use.tensor.number, "") for use in uses]
        for part in parts:
            self._repeat(self.parts.pop(part, []))

    def _repeat(self, operators: list[Operator]) -> None:
        operations = self.emitter.operations
        for operator in operators if self.dropped else ():
            self._make_dropped(operator.inputs)
        if self.by_operators:
            operators = self._up_to_the_last_needed(operators)
        for operator in operators:
            self._again(operator)
            last = len(operations) - 1
            _mark(operations, last, saves=operator.keeps)
            for use in operator.inputs:
                self._note_use(use, last)
        for operator in operators:
            for key in (key for out in operator.outputs for key in self._inside(out)):
                use = Use(self.saved.tensors[key], key[1])
                position = self.emitter.available(use, "recompute", operator.unit)
                _mark(operations, max(position or 0, 0), saves=self.saved.inside[key])
        self.emitter.forget_copies({*self.saved.sizes, *self.saved.inside})

    def _again(self, operator: Operator) -> None:
        outputs = made_again(self.graph, operator)
        if len(outputs) == len(operator.outputs):
            self.emitter.forward(operator, "recompute")
            return
        waits = [self.emitter.available(use, "recompute", operator.unit) for use in operator.inputs]
        position = self.emitter.run(operator.again_program, waits, "recompute")
        for tensor in outputs:
            self.emitter.provide(tensor, position, tensor.placement)

    def _up_to_the_last_needed(self, operators: list[Operator]) -> list[Operator]:
        # PyTorch stops early too
        needed = [
            at
            for at, operator in enumerate(operators)
            if operator.keeps or any(self._inside(out) for out in operator.outputs)
        ]
        return operators[: max(needed, default=-1) + 1]

    def _inside(self, tensor: Tensor) -> list[Key]:
        return [key for key in self.kept_forms.get(tensor.number, ()) if key in self.saved.inside]

    def _note_use(self, use: Use, position: int) -> None:
        for key in self.kept_forms.get(use.tensor.number, ()):
            self.last_use[key] = max(position, self.last_use.get(key, 0))

    def _gradients(self, operator: Operator) -> None:
        gathered = [
            [self.emitter.available(use, _phase(gradient), operator.unit) for use in gradient.needs]
            for gradient in operator.gradients
        ]
        for gradient, needs in zip(operator.gradients, gathered, strict=True):
            self._gradient(operator, gradient, needs)
        if self.by_operators:  # kept for anyone, freed after its operator
            here = max(len(self.emitter.operations) - 1, 0)
            kept = kept_outputs(self.graph, operator)
            for tensor in (*kept, *(use.tensor for use in operator.inputs)):
                self._note_use(Use(tensor, tensor.placement), here)
        if operator.keeps:
            _mark(self.emitter.operations, len(self.emitter.operations) - 1, frees=operator.keeps)

    def _gradient(self, operator: Operator, gradient: Gradient, needs: list[int | None]) -> None:
        unit = operator.unit
        of = [self._gradient_of(operator.outputs[at], unit) for at in gradient.of]
        position = self.emitter.run(gradient.program, [*needs, *of])
        for use in gradient.needs:
            self._note_use(use, len(self.emitter.operations) - 1)
        for at, placement in gradient.gives:
            self._contribute(operator.inputs[at].tensor, placement, position, unit)

    def _gradient_of(self, tensor: Tensor, unit: str) -> int | None:
        positions = self.summed.get(tensor.number, [])
        if len(positions) > 1:
            whole = self._add(tensor, positions, tensor.placement.dual(), unit)
            positions = self.summed[tensor.number] = [whole]
        return positions[0] if positions else None

    def _contribute(
        self, tensor: Tensor, placement: Placement, position: int | None, unit: str
    ) -> None:
        key = (tensor.number, placement)
        positions = self.contributions.setdefault(key, [])
        positions.append(position)
        if len(positions) < self.pending[key]:
            return
        whole = positions[0]
        if len(positions) > 1:
            whole = self._add(tensor, positions, placement, unit)
        for move in self.graph.moves_of(tensor, placement, tensor.placement.dual()):
            kind = move.type.name.lower()
            operation = Operation(
                f"{tensor.name}.grad.{kind}", kind, "dgrad", unit,
                collective=move.type, group=move.axis, size_bytes=move.size_bytes,
            )  # fmt: skip
            whole = self.emitter.run([operation], [whole])
        self.summed.setdefault(tensor.number, []).append(whole)

    def _add(
        self, tensor: Tensor, positions: list[int | None], placement: Placement, unit: str
    ) -> int | None:
        size = self.graph.bytes(tensor, placement)
        operation = Operation(
            f"{tensor.name}.grad.add", "residual", "dgrad", unit,
            vector_flops=(len(positions) - 1) * self.graph.local(tensor, placement),
            bytes_read=len(positions) * size, bytes_written=size,
        )  # fmt: skip
        return self.emitter.run([operation], positions)


def _phase(gradient: Gradient) -> Phase:
    return gradient.program[0].phase if gradient.program else "dgrad"


def _mark(operations: list[Operation], position: int, *, saves: int = 0, frees: int = 0) -> None:
    if saves or frees:
        operations[position] = operations[position].marked(saves, frees)
