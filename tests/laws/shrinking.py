"""Makes a case that breaks a law smaller: fewer steps, fewer waits, smaller sizes."""

from __future__ import annotations

from collections.abc import Iterator

from tests.laws.cases import Case
from tests.laws.jobs import Job
from tests.laws.laws import Law, broken
from yantra.base.errors import YantraError


def shrunk(law: Law, case: Case) -> Case:
    """One that ends stays one that ends, and one that does not keeps what its order needs."""
    hangs = broken(law, case).startswith("deadlock")
    while True:
        smaller = next((one for one in _smaller(case, hangs) if _breaks(law, one, hangs)), None)
        if smaller is None:
            return case
        case = smaller


def _breaks(law: Law, case: Case, hangs: bool) -> bool:
    try:
        text = broken(law, case)
    except YantraError:
        return False
    return bool(text) and text.startswith("deadlock") == hangs and "internal error" not in text


def _smaller(case: Case, in_order: bool) -> Iterator[Case]:
    job, one = case.job, case.place.collectives
    changed = (
        case.change[1] if isinstance(case.change, tuple) and case.change[0] == "step" else None
    )
    for step in job.steps:
        if step.number != changed:
            yield case._replace(job=job.without(step.number))
    for name, value in (
        ("chunks", 1),
        ("active_chunks", 1),
        ("endpoint_delay_ns", 0),
        ("inter_dimension", "ascending"),
    ):
        if getattr(one, name) != value and not case.place.cluster and case.change is None:
            changed_place = case.place._replace(collectives=one.replace(**{name: value}))
            yield case._replace(place=changed_place)
    for step in job.steps:
        for at, after in enumerate(step.after):
            if after and not in_order:
                fewer = tuple(() if at == other else each for other, each in enumerate(step.after))
                yield case._replace(job=_with(job, step._replace(after=fewer)))
        for size in (1, 1000, 100_000, 1_000_000):
            if size < step.size and step.number != changed:
                yield case._replace(job=job.changed(step.number, size))


def _with(job: Job, step: object) -> Job:
    steps = (step if one.number == step.number else one for one in job.steps)  # type: ignore[attr-defined]
    return job._replace(steps=tuple(steps))  # type: ignore[arg-type]
