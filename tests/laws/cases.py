"""A case of a law, and its run."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from tests.laws.jobs import KINDS, Job, drawn
from tests.laws.places import Place, place
from yantra.compile import Model, compile
from yantra.run.simulate import run_native


class Case(NamedTuple):
    place: Place
    job: Job
    change: Any = None

    def __str__(self) -> str:
        return f"{self.place}\n{self.job}\nchange: {self.change}"


class Run:
    def __init__(self, place: Place, job: Job) -> None:
        self.model: Model = compile(place.scenario(job))
        self.outcome = run_native(self.model)
        self.per_ns = self.model.ticks_per_ns

    @property
    def finish(self) -> list[int]:
        """When each rank finishes, in picoseconds."""
        return [ticks * 1000 // self.per_ns for ticks in self.outcome.finish]

    @property
    def makespan(self) -> int:
        """When the last rank finishes, in picoseconds."""
        return max(self.finish, default=0)


def any_case(draw: Random, network: str) -> Case:
    on = place(draw, network)
    return Case(on, job_for(draw, on))


def job_for(draw: Random, on: Place, kinds: tuple[str, ...] = KINDS) -> Job:
    return drawn(draw, on.ranks, on.needs_powers, on.collectives.rendezvous, kinds)


def differing(got: list[int], expected: list[int], allowed: int = 0) -> str:
    wrong = [
        rank
        for rank, (one, other) in enumerate(zip(got, expected, strict=True))
        if abs(one - other) > allowed
    ]
    if not wrong:
        return ""
    rank = max(wrong, key=lambda one: abs(got[one] - expected[one]))
    return f"rank {rank} ends at {got[rank]} ps, expected {expected[rank]}"
