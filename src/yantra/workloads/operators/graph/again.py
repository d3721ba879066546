"""`Blocks`: what blocks add to a graph, kept so that equal ones are built once.

Trade-off: only a block with one input from outside is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from yantra.workloads.operators.graph.graph import Gradient, Graph, Operator, Use
from yantra.workloads.operators.graph.tensor import Tensor
from yantra.workloads.operators.operations import Operation, Weight

_make = tuple.__new__


class Buildable(Protocol):
    """A block of a model."""

    def build(self, g: Graph, x: Tensor | None) -> Tensor | None:
        """Add the block's operators; return its result."""


class _Added(NamedTuple):
    result: Tensor
    operators: tuple[Operator, ...]
    weights: tuple[Weight, ...]


class _Built(NamedTuple):
    unit: str
    before: int
    numbers: int
    given: Tensor
    result: Tensor
    operators: tuple[Operator, ...]
    weights: tuple[Weight, ...]
    copies: dict[tuple[str, int, Tensor], _Added]


class Blocks:
    """What blocks add to graphs of one setting."""

    def __init__(self) -> None:
        self._known: dict[Any, _Built | None] = {}

    def build(self, g: Graph, block: Buildable, given: Tensor | None) -> Tensor | None:
        if given is None:
            return block.build(g, given)
        key = (block, g.setting.sequence_parallel, *given[2:])  # without number and name
        if key in self._known:
            built = self._known[key]
            return block.build(g, given) if built is None else _again(g, built, given)
        before, operators, weights = g.take_numbers(0), len(g.operators), len(g.weights)
        result = block.build(g, given)
        added = tuple(g.operators[operators:]), tuple(g.weights[weights:])
        built = None
        if result is not None:
            numbers = g.take_numbers(0) - before
            built = _Built(g.current_unit, before, numbers, given, result, *added, {})
        self._known[key] = built if built is not None and _can_move(built) else None
        return result


def _can_move(built: _Built) -> bool:
    own = range(built.before + 1, built.before + built.numbers + 1)
    tensors = [tensor for tensor in _tensors(built) if tensor.number != built.given.number]
    names = [weight.name for weight in built.weights] + [tensor.name for tensor in tensors]
    units = {weight.unit for weight in built.weights}
    for operator in built.operators:
        programs = [operator.program, operator.again_program]
        programs += [gradient.program for gradient in operator.gradients]
        units.add(operator.unit)
        names.append(operator.name)
        names += [one.name for program in programs for one in program]
    begins = f"{built.unit}."
    return (
        bool(built.unit)
        and units <= {built.unit}
        and all(tensor.number in own for tensor in tensors)
        and all(name.startswith(begins) for name in names)
    )


def _tensors(built: _Built) -> Iterator[Tensor]:
    yield built.result
    for operator in built.operators:
        yield from operator.outputs
        yield from (use.tensor for use in operator.inputs)
        yield from (use.tensor for gradient in operator.gradients for use in gradient.needs)


def _again(g: Graph, built: _Built, given: Tensor) -> Tensor:
    key = (g.current_unit, g.take_numbers(built.numbers) - built.before, given)
    added = built.copies.get(key)
    if added is None:
        added = built.copies[key] = _copy(built, *key)
    g.operators += added.operators
    g.weights += added.weights
    return added.result


def _copy(built: _Built, unit: str, shift: int, given: Tensor) -> _Added:
    length = len(built.unit)
    known: dict[Tensor, Tensor] = {}

    def tensor(one: Tensor) -> Tensor:
        found = known.get(one)
        if found is None:
            if one.number == built.given.number:
                found = given._replace(gathered=one.gathered)
            else:
                moved = (one.number + shift, unit + one.name[length:], *one[2:])
                found = _make(Tensor, moved)
            known[one] = found
        return found

    def uses(of: tuple[Use, ...]) -> tuple[Use, ...]:
        return tuple([_make(Use, (tensor(one), where)) for one, where in of])

    def program(of: tuple[Operation, ...]) -> tuple[Operation, ...]:
        return tuple([one.called(unit + one.name[length:], unit) for one in of])

    operators = []
    for one in built.operators:
        name, _, inputs, outputs, forward, gradients, keeps, region, again, again_program = one
        backward = [
            _make(Gradient, (program(made), of, uses(needs), gives, width))
            for made, of, needs, gives, width in gradients
        ]
        where = (unit + name[length:], unit, uses(inputs), tuple(map(tensor, outputs)))
        rest = (keeps, region, again, program(again_program))
        operators.append(_make(Operator, (*where, program(forward), tuple(backward), *rest)))
    weights = [
        _make(Weight, (unit + weight.name[length:], unit, *weight[2:])) for weight in built.weights
    ]
    return _Added(tensor(built.result), tuple(operators), tuple(weights))
