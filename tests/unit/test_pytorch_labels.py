"""Which call gloo's work belongs to, however it was recorded."""

from __future__ import annotations

from tests.linked_jobs import Rank, io, tensor
from yantra.tracing.pytorch.calls import Calls
from yantra.tracing.pytorch.labels import pair
from yantra.tracing.pytorch.linked import Operator


class Recording:
    def __init__(self) -> None:
        self.rank = Rank(0, 2)

    def call(self, name: str, number: int = 0) -> Operator:
        self.rank.now += 1000
        value = io(([[number, *tensor(4)[1:]]], "GenericList[Tensor(float)]")) if number else io()
        return self.rank.operator(f"c10d::{name}", 1, 900, inputs=value)

    def work(self, name: str, number: int = 0, below: Operator | None = None) -> Operator:
        self.rank.now += 10
        value = io(([number, *tensor(4)[1:]], "Tensor(float)")) if number else io()
        return self.rank.operator(f"gloo:{name}", below.id if below else 1, 50, inputs=value)

    def pairs(self) -> dict[int, list[int]]:
        operators = self.rank.linked.operators
        labels = [op for op in operators if op.name.startswith("gloo:")]
        found = pair(operators, labels, Calls(operators))
        return {call: [label.id for label in work] for call, work in found.items()}


def test_work_below_its_call_is_its() -> None:
    run = Recording()
    first = run.call("allreduce_", 1)
    work = run.work("all_reduce", 1, first)
    assert run.pairs() == {first.id: [work.id]}


def test_the_tensor_tells_more_than_the_place() -> None:
    run = Recording()
    first, second = run.call("broadcast_", 1), run.call("broadcast_", 2)
    late, own = run.work("broadcast", 1, second), run.work("broadcast", 2, second)
    assert run.pairs() == {first.id: [late.id], second.id: [own.id]}


def test_work_without_tensors_goes_to_the_oldest_call_of_its_kind() -> None:
    run = Recording()
    first, other, second = run.call("barrier"), run.call("send", 5), run.call("barrier")
    works = [run.work("barrier", below=second) for _ in range(2)]
    assert run.pairs() == {first.id: [works[0].id], second.id: [works[1].id]}
    assert other.id not in run.pairs()


def test_one_call_may_have_work_in_several_parts() -> None:
    run = Recording()
    call = run.call("reduce_scatter_", 1)
    works = [run.work("all_reduce", number, call) for number in (7, 8, 9)]
    assert run.pairs() == {call.id: [work.id for work in works]}


def test_work_that_no_call_can_have_begun_is_left_out() -> None:
    run = Recording()
    run.work("all_reduce", 1)
    run.call("allreduce_", 1)
    run.work("gather", 3)
    assert run.pairs() == {}
