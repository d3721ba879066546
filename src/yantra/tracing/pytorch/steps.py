"""One step of a recording of several: what threads began in its time, and device ops launched then.

Source: torch.profiler.profile.step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import structs

from yantra.base.errors import TraceError
from yantra.base.units import format_time
from yantra.tracing.pytorch.balance import Sum
from yantra.tracing.pytorch.linked import DeviceOp, Linked, Operator
from yantra.tracing.pytorch.linked_columns import as_objects

_MARK = re.compile(r"ProfilerStep#(\d{1,9})$")
_OTHERS = "of other steps"
_TOLD_NS = 1_000_000


class Step(NamedTuple):
    """A step's range, in ns after the origin."""

    number: int
    start_ns: int
    end_ns: int


def steps(linked: Linked) -> list[Step]:
    found: dict[int, Step] = {}
    for operator in linked.operators:
        mark = _MARK.match(operator.name)
        if mark and operator.start_ns is not None:
            start = operator.start_ns
            found.setdefault(int(mark[1]), Step(int(mark[1]), start, start + operator.dur_ns))
    for range_ in linked.annotations:
        if mark := _MARK.match(range_.name):
            start = range_.start_ns
            found.setdefault(int(mark[1]), Step(int(mark[1]), start, start + range_.dur_ns))
    return sorted(found.values(), key=lambda step: step.start_ns)


def remark(found: list[Step]) -> str:
    return (
        f"the recording holds {len(found)} steps (#{found[0].number} to #{found[-1].number}), and "
        f"a run shows their sum; --step {found[-1].number} converts the last alone"
    )


def behind_ns(cut: Linked) -> int:
    """How long each device op launched in a step waited at least, for those of earlier steps."""
    launched = ((op.start_ns, op.launch_end_ns) for op in cut.device_ops)
    return max(0, min((start - end for start, end in launched if end is not None), default=0))


def behind(cut: Sequence[tuple[int, int]], number: int) -> list[str]:
    """A sentence on the rank that waits most, from (`behind_ns`, rank), if one waits a ms."""
    most, rank = max(cut, default=(0, 0))
    if most < _TOLD_NS:
        return []
    return [
        f"rank {rank}: all device work of step {number} waited {format_time(most)} for earlier "
        "steps; a run of this step alone is that much longer; all steps together are not"
    ]


_UNMARKED = "it marks no steps: record ranges ProfilerStep#N (prof.step(), NVTX, roctx)"


def only(linked: Linked, number: int) -> Linked:
    found = steps(linked)
    step = next((step for step in found if step.number == number), None)
    if step is None:
        numbers = ", ".join(str(step.number) for step in found)
        marks = f"it has the steps {numbers}" if found else _UNMARKED
        raise TraceError(f"rank {linked.rank}: has no step {number}; {marks}")
    return _Cut(as_objects(linked), step).run()


class _Cut:
    def __init__(self, linked: Linked, step: Step) -> None:
        self.linked = linked
        self.step = step
        self.parents = {operator.id: operator.parent for operator in linked.operators}
        self.kept: set[int] = set()

    def run(self) -> Linked:
        linked, begin = self.linked, self.step.start_ns
        self.kept = self._operators()
        ops = [op for op in linked.device_ops if self._is_in(_began(op))]
        here = {op.id for op in ops}
        cut = structs.replace(
            linked,
            origin_ns=linked.origin_ns + begin,
            operators=[self._operator(one) for one in linked.operators if one.id in self.kept],
            device_ops=[self._device_op(op, here) for op in ops],
            waits=[
                structs.replace(
                    wait,
                    start_ns=wait.start_ns - begin,
                    op=self._above(wait.op),
                    after=[op for op in wait.after if op in here],
                )
                for wait in linked.waits
                if self._is_in(wait.start_ns)
            ],
            flows=[
                flow
                for flow in linked.flows
                if flow.source in self.kept and flow.target in self.kept
            ],
            annotations=[
                structs.replace(one, start_ns=one.start_ns - begin)
                for one in linked.annotations
                if self._is_in(one.start_ns)
            ],
            report=structs.replace(linked.report),
        )
        self._count(cut)
        return cut

    def _is_in(self, time: int | None) -> bool:
        return time is not None and self.step.start_ns <= time < self.step.end_ns

    def _operators(self) -> set[int]:
        kept: set[int] = set()
        for operator in self.linked.operators:
            timeless = operator.start_ns is None and (
                operator.parent is None or operator.parent in kept
            )
            if timeless or self._is_in(operator.start_ns):
                kept.add(operator.id)
        return kept

    def _above(self, id: int | None) -> int | None:
        seen: set[int] = set()
        while id is not None and id not in self.kept and id not in seen:
            seen.add(id)
            id = self.parents.get(id)
        return id if id in self.kept else None

    def _operator(self, one: Operator) -> Operator:
        start = None if one.start_ns is None else one.start_ns - self.step.start_ns
        return structs.replace(one, start_ns=start, parent=self._above(one.parent))

    def _device_op(self, op: DeviceOp, here: set[int]) -> DeviceOp:
        begin = self.step.start_ns
        moved = structs.replace(
            op,
            start_ns=op.start_ns - begin,
            parent=self._above(op.parent),
            after=[other for other in op.after if other in here],
        )
        if op.launch_start_ns is not None:
            moved.launch_start_ns = op.launch_start_ns - begin
        if op.launch_end_ns is not None:
            moved.launch_end_ns = op.launch_end_ns - begin
        return moved

    def _count(self, cut: Linked) -> None:
        linked = self.linked
        balance = cut.report.balance = structs.replace(linked.report.balance)
        ops = balance.device_ops = Sum(
            balance.device_ops.total or len(linked.device_ops),
            {"of the step": len(cut.device_ops)},
        )
        ops.leave_out(_OTHERS, len(linked.device_ops) - len(cut.device_ops))
        nodes = balance.nodes = Sum(len(linked.operators), {"of the step": len(cut.operators)})
        nodes.leave_out(_OTHERS, len(linked.operators) - len(cut.operators))


def _began(op: DeviceOp) -> int:
    return op.start_ns if op.launch_start_ns is None else op.launch_start_ns
