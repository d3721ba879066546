"""The laws that every pipeline schedule keeps, and the contract that checks them.

yantra contract schedule zb-h1
yantra contract schedule path/to/my_schedule.py
yantra contract schedule path/to/my_list.yaml
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

from yantra.base import contract
from yantra.base.contract import Contract, asked
from yantra.workloads.schedules import get
from yantra.workloads.schedules.check import find_violation
from yantra.workloads.schedules.drawing import draw
from yantra.workloads.schedules.execution import Costs, execute
from yantra.workloads.schedules.limits import counted
from yantra.workloads.schedules.listed import Listed
from yantra.workloads.schedules.schedule import Schedule

Size = tuple[int, int, int]
SIZES: tuple[Size, ...] = tuple(
    (p, m, v)
    for v in (1, 2, 3)
    for p in (1, 2, 3, 4, 5, 8)
    for m in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 17, 24)
)

Law = Callable[[Schedule, int, int, int], str | None]


def every_chunk_is_one_stage(schedule: Schedule, p: int, m: int, v: int) -> str | None:
    stages = schedule.stages(p, v)
    places = [place for route in stages.routes for place in route]
    every = [(device, chunk) for device in range(p) for chunk in range(stages.chunks)]
    if sorted(places) != every:
        return f"the routes pass {len(places)} places, not all {len(every)} of {p} devices once"
    if {len(route) for route in stages.routes} != {stages.count}:
        return "the routes differ in length"
    if m % len(stages.routes):
        return f"{len(stages.routes)} routes do not divide {m} micro-batches"
    return None


def every_pass_occurs_once_and_can_start(schedule: Schedule, p: int, m: int, v: int) -> str | None:
    wrong = find_violation(schedule.orders(p, m, v), schedule.stages(p, v), m)
    return str(wrong) if wrong else None


def the_same_is_said_twice(schedule: Schedule, p: int, m: int, v: int) -> str | None:
    if schedule.orders(p, m, v) == schedule.orders(p, m, v):
        return None
    return "asked twice, it gives two orders"


LAWS: tuple[Law, ...] = (
    every_chunk_is_one_stage,
    every_pass_occurs_once_and_can_start,
    the_same_is_said_twice,
)


def sizes_of(schedule: Schedule) -> list[Size]:
    if isinstance(schedule, Listed):
        return [schedule.size]
    return [size for size in SIZES if schedule.requires(*size) is None]


def violations(schedule: Schedule) -> Iterator[str]:
    for size in SIZES:
        reason = schedule.requires(*size)
        if reason is not None and not (reason.startswith("needs ") and ", got " in reason):
            yield f"{_spelt(size)}: refused with {reason!r}; expected 'needs ..., got ...'"
    sizes = sizes_of(schedule)
    if not sizes:
        yield f"it supports no size of {len(SIZES)}; {_spelt(SIZES[-1])}: it {reason}"
    for size in sizes:
        for law in LAWS:
            wrong = asked(law, schedule, *size)
            if wrong:
                yield f"{_spelt(size)}: {law.__name__}: {wrong}"


def summary(schedule: Schedule) -> str:
    sizes = sizes_of(schedule)
    drawable = (size for size in reversed(sizes) if size[2] <= 2 and size[:2] <= (4, 8))
    p, m, v = shown = next(drawable, sizes[-1])
    execution = execute(schedule.orders(p, m, v), schedule.stages(p, v), Costs())
    drawn = draw(execution).rstrip("\n")
    return f"every law holds over {counted(len(sizes), 'size')}; {_spelt(shown)}:\n{drawn}"


CONTRACT = Contract(
    kind="schedule",
    module="yantra.workloads.schedules.contract",
    about="Check a pipeline schedule: every pass once, and no deadlock.",
    argument="a name (zb-h1), a Python file with a line PLUGIN =, or a list of operations (.yaml)",
    find=get,
    violations=violations,
    summary=summary,
)


def main(arguments: Sequence[str] | None = None) -> int:
    return contract.main(CONTRACT, arguments)


def _spelt(size: Size) -> str:
    p, m, v = size
    numbers = f"{counted(p, 'device')}, {counted(m, 'micro-batch')}"
    return numbers + (f", {v} chunks per device" if v > 1 else "")


if __name__ == "__main__":
    sys.exit(main())
