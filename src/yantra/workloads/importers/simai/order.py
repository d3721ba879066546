"""In which order a rank of a SimAI workload runs its rows.

SimAI runs all rows forward, then all backward, with a formula for the pipeline: the order `simai`.

Source: facts of SimAI (Workload.cc, iterate_hybrid_parallel_Transformer_fwd_in_bckwd) and of AICB,
whose rows of a micro-batch begin with `embedding_layer` and end before `cross_entropy1`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.workloads import schedules
from yantra.workloads.importers.simai.read import Job, Row
from yantra.workloads.schedules.schedule import Pair

SIMAI = "simai"
Way = Literal["F", "B", "b", "W"]


class Part(NamedTuple):
    """Rows that a rank runs one way: forward, backward (whole, inputs only, weights only)."""

    way: Way
    rows: tuple[Row, ...]
    microbatch: int = 0
    before: str = ""
    after: str = ""


def stages(job: Job, schedule: str) -> list[list[Part]]:
    """Raises ConfigError without micro-batches or the schedule's order, UnsupportedError for
    schedules that split a stage.
    """
    if schedule == SIMAI or job.is_inference:
        ways: tuple[Way, ...] = ("F",) if job.is_inference else ("F", "B")
        return [[Part(way, job.rows) for way in ways]]
    planned = schedules.get(schedule, "schedule")
    if planned.stages(job.pp, 1).count != job.pp or len(planned.stages(job.pp, 1).routes) > 1:
        problem = "puts several chunks of layers on a device; SimAI's rows cannot be split"
        raise UnsupportedError(f"schedule: {schedule} {problem}; take 1f1b, gpipe or zb-h1")
    first, bodies, last = split(job)
    made = []
    for stage, order in enumerate(planned.orders(job.pp, job.micro_batches)):
        parts = [Part("F", first)]
        for action in order:
            if isinstance(action, Pair):
                raise UnsupportedError(f"schedule: {schedule} overlaps passes, which rows cannot")
            parts.append(
                _part(action.kind, bodies[action.microbatch], action.microbatch, stage, job)
            )
        made.append([*parts, Part("F", last), Part("B", last), Part("B", first)])
    return made


def _part(way: Way, rows: tuple[Row, ...], microbatch: int, stage: int, job: Job) -> Part:
    below = "pp-1" if stage > 0 else ""
    above = "pp+1" if stage < job.pp - 1 else ""
    if way == "W":
        return Part(way, rows, microbatch)
    before, after = (below, above) if way == "F" else (above, below)
    return Part(way, rows, microbatch, before, after)


def split(job: Job) -> tuple[tuple[Row, ...], list[tuple[Row, ...]], tuple[Row, ...]]:
    names = [row.name for row in job.rows]
    begin = next((at for at, name in enumerate(names) if name.startswith("embedding_layer")), None)
    end = next((at for at, name in enumerate(names) if name.startswith("cross_entropy")), None)
    end = len(names) if end is None else end
    if begin is None or end < begin or (end - begin) % job.micro_batches:
        problem = (
            f"its rows are not {job.micro_batches} equal micro-batches from embedding_layer on"
        )
        raise ConfigError(job.where, f"{problem}; import it with the schedule {SIMAI}")
    length = (end - begin) // job.micro_batches
    bodies = list(_pieces(job.rows[begin:end], length))
    if any([row.name for row in body] != names[begin : begin + length] for body in bodies):
        raise ConfigError(job.where, f"its micro-batches differ; import it with {SIMAI}")
    return job.rows[:begin], bodies, job.rows[end:]


def _pieces(rows: tuple[Row, ...], length: int) -> Iterator[tuple[Row, ...]]:
    for at in range(0, len(rows), length):
        yield rows[at : at + length]
