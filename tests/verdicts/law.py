"""The law of the first line: the cause it names is the one whose removal gains most."""

from __future__ import annotations

from pathlib import Path

from tests.workloads.every_model.plans import Trial
from tests.workloads.every_model.trying import fitting
from yantra.compile import compile, compile_without
from yantra.result import Result
from yantra.run.simulate import run
from yantra.scenario.on_cluster import on_cluster
from yantra.workloads.training.train import train

WAITS = ("bubble", "waiting", "uneven")


def result_of(trial: Trial, folder: Path, number: int) -> Result:
    path = folder / f"{number}.yw"
    train(trial.model, trial.plan).save(path)
    cluster = next(fitting(trial.plan.ranks, number, trial.plan.dtype))
    return run(compile(on_cluster(str(path), cluster, ignore_memory=True)))


def removals(result: Result) -> dict[str, tuple[str, ...]]:
    dimensions = range(len(result.model.scenario.topology.dimensions))
    together = {"network": ("bandwidth",)} if len(dimensions) > 1 else {}
    return {
        "compute": ("peak",),
        "memory_bandwidth": ("memory_bandwidth",),
        "latency": ("latency", "hand_overs"),
        "memory": ("remote_memory",),
        "host": ("host",),
        **together,
        **{f"network {at}": (f"bandwidth of dimension {at}",) for at in dimensions},
    }


def gains(result: Result) -> dict[str, int]:
    makespan = max(result.outcome.finish)
    gained = {}
    for kind, causes in removals(result).items():
        relieved = run(compile_without(result.model, causes), fold="off")
        gained[kind] = makespan - max(relieved.outcome.finish)
    table, per_ns = result.ranks, result.model.ticks_per_ns
    busy = [
        round(per_ns * finish) - round(per_ns * waiting) - round(per_ns * idle)
        for finish, waiting, idle in zip(
            table.values("finish_ns"),
            table.values("waiting_ns"),
            table.values("idle_ns"),
            strict=True,
        )
    ]
    gained["bubble"] = makespan - max(busy)
    gained["uneven"] = max(busy) - sum(busy) // len(busy)
    return gained


def holds(result: Result, where: str) -> str:
    bound = result.bound_by
    if bound.estimate:
        assert "(estimate)" in bound.text, where
        return "estimate"
    gained = gains(result)
    most = max(gained.values())
    best = {kind.split()[0] for kind, ticks in gained.items() if ticks == most}
    kind = "bubble" if bound.kind == "waiting" else bound.kind
    assert kind in (best if most > 0 else {"none"}), f"{where}: {bound}, {gained}"
    share = most / max(result.outcome.finish)
    assert abs(bound.gain - max(share, 0)) < 1e-12, f"{where}: {bound}, {gained}"
    return bound.kind
