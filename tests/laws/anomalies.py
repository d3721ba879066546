"""Why a job with a faster part may end later: something came earlier, and took what others use.

Where messages share links, or steps a slot, an earlier start of one delays another, and the job may
end later for it (Graham, "Bounds on multiprocessing timing anomalies", 1969).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tests.laws.jobs import Job, Step

if TYPE_CHECKING:
    from tests.laws.cases import Run


class Span(NamedTuple):
    """`ends` are those of each member of a collective."""

    start: int
    end: int
    left: int = 0
    ends: tuple[int, ...] = ()


def spans(run: Run, job: Job) -> dict[int, Span]:
    places: list[dict[int, int]] = [{} for _ in range(job.ranks)]
    for step in sorted(job.steps):
        for rank in step.ranks:
            places[rank][step.number] = run.outcome.first_node[rank] + len(places[rank])
    found = {}
    for step in job.steps:
        at = [places[rank][step.number] for rank in step.ranks]
        starts = [run.outcome.start[place] for place in at]
        start = starts[0] if step.what == "message" else min(starts)
        ends = [run.outcome.end[place] for place in at]
        each = tuple(ends) if step.what == "collective" else ()
        found[step.number] = Span(start, max(ends), ends[0], each)
    return found


def witness(job: Job, before: dict[int, Span], after: dict[int, Span], slack: int) -> str:
    late = []
    for step in job.steps:
        was, now = before[step.number], after[step.number]
        ends = zip(was.ends, now.ends, strict=True)
        if first := [end for end, later in ends if later > end + slack]:
            late.append((min(first), "ends", step))
        elif now.start > was.start + slack:
            late.append((was.start, "starts", step))
        elif now.left > was.left + slack:
            late.append((was.left, "ends", step))
        elif now.end > was.end + slack:
            late.append((was.end, "ends", step))
    if not late:
        return ""
    _, how, step = min(late)
    span = Span(before[step.number].start, after[step.number].end)
    if how == "ends" and step.what in ("kernel", "memory"):
        return ""
    if how == "ends" and step.what == "collective":
        return f"step {step.number}: its own messages share links"
    others = (one for one in job.steps if one is not step and _competes(one, step, how))
    for one in others:
        theirs = after[one.number]
        if theirs.start < span.end and span.start < theirs.end:
            return f"step {step.number} {how} late for step {one.number}"
    return ""


def _competes(one: Step, step: Step, how: str) -> bool:
    if how == "ends":
        return one.what in ("message", "collective")
    kinds = ("message", "collective") if step.what in ("message", "collective") else (step.what,)
    return one.what in kinds and not set(one.ranks).isdisjoint(step.ranks)
