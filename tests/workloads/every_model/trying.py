"""Tries one plan of one model from its generation to the end of a simulated step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.oracles.communication_order import problems
from tests.workloads.every_model.plans import Trial
from yantra.base.errors import ConfigError
from yantra.compile import compile
from yantra.fabric import clusters
from yantra.run.simulate import run_native
from yantra.scenario.on_cluster import on_cluster
from yantra.scenario.quirks import ASTRA_SIM, Quirk
from yantra.scenario.types import Scenario, Semantics
from yantra.workloads.templates import Workload, load
from yantra.workloads.training.train import train

SEMANTICS: tuple[Semantics, ...] = ("yantra", "astra-sim")


class Outcome(NamedTuple):
    """Nodes of all ranks, and seconds of the step by semantics."""

    cluster: str
    nodes: int
    seconds: dict[str, float]


def tried(trial: Trial, folder: Path, number: int) -> Outcome:
    """Generate twice, check the traces, and run; `number` turns over the named clusters.

    Raises AssertionError with what is wrong; errors of Yantra pass through.
    """
    paths = [folder / "first.yw", folder / "again.yw"]
    for path in paths:
        train(trial.model, trial.plan).save(path)
    assert paths[0].read_bytes() == paths[1].read_bytes(), "other bytes the second time"
    workload = load(paths[0])
    assert workload.ranks == trial.plan.ranks
    nodes = _check_traces(workload)
    cluster = next(fitting(workload.ranks, number, trial.plan.dtype))
    seconds = {}
    for semantics in SEMANTICS:
        scenario = on_cluster(str(paths[0]), cluster, semantics=semantics, ignore_memory=True)
        seconds[semantics] = _seconds(scenario)
    return Outcome(cluster, nodes, seconds)


def _check_traces(workload: Workload) -> int:
    communicators = workload.communicators()
    traces = [workload.trace(rank, "streams") for rank in range(workload.ranks)]
    found = problems(traces, communicators, serial=False)
    assert not found, f"streams: {found[:3]}"
    serial = [workload.trace(rank, "serial") for rank in range(workload.ranks)]
    found = problems(serial, communicators, serial=True)
    assert not found, f"serial: {found[:3]}"
    return sum(map(len, traces))


def fitting(ranks: int, number: int, dtype: str = "bf16") -> Iterator[str]:
    """Yield clusters of so many ranks that compute in `dtype`, another one first per number."""
    names = clusters.names()
    for name in (*names[number % len(names) :], *names[: number % len(names)]):
        machine = clusters.load(name)
        if dtype not in dict(machine.peak):
            continue
        try:
            machine.scenario_parts(ranks)
        except ConfigError:
            continue
        yield name


def _seconds(scenario: Scenario) -> float:
    """Return how long the step takes.

    Over three dimensions ASTRA-sim's own collectives wait for each other for ever; there this one
    oddity is left out.
    """
    if scenario.semantics == "astra-sim" and len(scenario.topology.dimensions) > 2:
        scenario = scenario.replace(quirks=ASTRA_SIM - {Quirk.PHASES_AS_READY})
    model = compile(scenario)
    finish = run_native(model).finish
    assert len(finish) == scenario.topology.ranks
    assert all(0 < tick < 1 << 62 for tick in finish), "some rank never ends"
    return max(finish) / model.ticks_per_ns * 1e-9
