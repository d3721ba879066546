"""Operations, collectives and messages of each stage's tensors, with upstream's ids.

Computations of no operations are removed; as upstream, the order of removal decides the order of
dependencies.

Source: astra-sim/stage@9ec6c02, the pass BundledConvertChakra.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import count

from yantra.base.errors import ConfigError
from yantra.workloads.importers.stg import operators
from yantra.workloads.importers.stg.expressions import Expression
from yantra.workloads.importers.stg.resharding import Collective, collectives
from yantra.workloads.importers.stg.stages import Message, Stages
from yantra.workloads.importers.stg.tensors import Graph, Spec, Tensor


class Step:
    """A node before its sizes: a computation, or the movement of a tensor.

    `moved` is the moved tensor, or None; this is the collective at `place` of the `chain` that
    reshards it.
    """

    __slots__ = ("after", "chain", "id", "is_send", "moved", "peer", "place", "tag", "tensor")

    def __init__(self, id: int, tensor: Tensor, moved: Tensor | None = None) -> None:
        self.id = id
        self.tensor = tensor
        self.moved = moved
        self.after: list[int] = []
        self.chain: tuple[Collective, ...] = ()
        self.place = 0
        self.peer: int | None = None
        self.is_send = False
        self.tag = 0

    @property
    def collective(self) -> Collective | None:
        return self.chain[self.place] if self.chain else None


class _Steps:
    __slots__ = ("compute", "first", "received", "second", "sent")

    def __init__(self, compute: Step) -> None:
        self.compute = compute
        self.first: list[Step] = []
        self.second: list[Step] = []
        self.received: Step | None = None
        self.sent: list[Step] = []

    @property
    def result(self) -> Step:
        return self.received or self.compute

    def in_order(self) -> list[Step]:
        received = [] if self.received is None else [self.received]
        return [self.compute, *self.first, *self.second, *received, *self.sent]


def steps_of(
    stages: Stages, axes: Sequence[str], does_nothing: Callable[[Expression], bool]
) -> dict[int, list[Step]]:
    """`axes` are the symbols of spatial axes of more than one rank; `does_nothing` says which
    numbers of operations are zero.
    """
    ids = count(1)
    matcher = _Matcher(axes)
    by_tensor: dict[Tensor, _Steps] = {}
    for graph in stages.graphs.values():
        for tensor in graph:
            by_tensor[tensor] = _steps(tensor, ids, matcher)
    for tag, message in enumerate(stages.messages):
        _add_message(message, tag, ids, by_tensor)
    return {
        stage: _without_empty(_linked(graph, by_tensor), does_nothing)
        for stage, graph in stages.graphs.items()
    }


class _Matcher:
    def __init__(self, axes: Sequence[str]) -> None:
        self._axes = tuple(axes)
        self._known: dict[tuple[int, int, bool], tuple[Collective, ...]] = {}

    def between(self, origin: Spec, to: Spec, second: bool) -> tuple[Collective, ...]:
        # The specs outlive this object, so their ids stay theirs.
        key = id(origin), id(to), second
        if key not in self._known:
            made = operators.output(origin)
            shape = to.x2_shape if second else to.x1_shape
            hidden = to.x2_hidden if second else to.x1_hidden
            need = shape or (), hidden or ()
            column = "x2_shape" if second else "x1_shape"
            where = f"{to.where}, column {column}"
            self._known[key] = collectives((made.shape, made.hidden), need, self._axes, where)
        return self._known[key]


def _steps(tensor: Tensor, ids: count[int], matcher: _Matcher) -> _Steps:
    steps = _Steps(Step(next(ids), tensor))
    for origin, is_second in ((tensor.x1, False), (tensor.x2, True)):
        if origin is None:
            continue
        moves = steps.second if is_second else steps.first
        chain = matcher.between(origin.spec, tensor.spec, is_second)
        for place in range(len(chain)):
            step = Step(next(ids), tensor, origin)
            step.chain, step.place = chain, place
            if moves:
                step.after.append(moves[-1].id)
            moves.append(step)
        if moves:
            steps.compute.after.append(moves[-1].id)
    return steps


def _add_message(
    message: Message, tag: int, ids: count[int], by_tensor: Mapping[Tensor, _Steps]
) -> None:
    send = Step(next(ids), message.tensor, message.tensor)
    send.is_send, send.peer, send.tag = True, message.receiver, tag
    send.after.append(by_tensor[message.tensor].result.id)
    by_tensor[message.tensor].sent.append(send)
    receive = Step(next(ids), message.shadow, message.shadow)
    receive.peer, receive.tag = message.sender, tag
    by_tensor[message.shadow].received = receive


def _linked(graph: Graph, by_tensor: Mapping[Tensor, _Steps]) -> list[Step]:
    steps: list[Step] = []
    for tensor in graph:
        own = by_tensor[tensor]
        if tensor.x1 is not None:
            (own.first or [own.compute])[0].after.append(by_tensor[tensor.x1].result.id)
        if tensor.x2 is not None:
            (own.second or [own.compute])[0].after.append(by_tensor[tensor.x2].result.id)
        own.compute.after += [by_tensor[other].result.id for other in tensor.also]
        steps += own.in_order()
    return steps


def _without_empty(steps: list[Step], does_nothing: Callable[[Expression], bool]) -> list[Step]:
    empty = {
        step.id: step
        for step in steps
        if step.moved is None and does_nothing(operators.output(step.tensor.spec).operations)
    }
    while empty:
        waiting: defaultdict[int, list[Step]] = defaultdict(list)
        for step in steps:
            for parent in step.after:
                if parent in empty:
                    waiting[parent].append(step)
        gone = set()
        for step in empty.values():
            if not any(parent in empty for parent in step.after):
                gone.add(step.id)
                for child in waiting[step.id]:
                    child.after.remove(step.id)
                    child.after += step.after
        if not gone:
            name = next(iter(empty.values())).tensor.name
            raise ConfigError(name, "waits for itself: the links make a circle")
        steps = [step for step in steps if step.id not in gone]
        empty = {id: step for id, step in empty.items() if id not in gone}
    return steps
