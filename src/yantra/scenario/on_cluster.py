"""A workload on a named cluster: the scenario of `yantra run X.yw --cluster NAME`.

Checked first: whether memory holds what the workload says its ranks need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from yantra.base.errors import CapacityError
from yantra.base.notes import note
from yantra.base.open_values import Taken
from yantra.fabric import clusters
from yantra.scenario.layout import DOCUMENT, scenario_of
from yantra.scenario.settings import Settings, with_settings
from yantra.scenario.training import plan_of, templates_of
from yantra.scenario.types import (
    ASTRA_SIM_RESOURCES,
    Scenario,
    Semantics,
    TrainingStep,
    WorkloadFile,
)
from yantra.workloads.plan.precision import for_machine
from yantra.workloads.templates.room import lack_of_memory

_MOST_DOUBLINGS = 7


def on_cluster(
    workload: Mapping[str, Any] | str,
    cluster: str,
    *,
    semantics: Semantics = "yantra",
    network: str = "analytical",
    algorithms: Mapping[str, tuple[str, ...]] | None = None,
    chunks: int | None = None,
    ignore_memory: bool = False,
    stack: str | None = None,
    settings: Settings | None = None,
) -> Scenario:
    """Return a workload's scenario on a cluster, by name or path.

    `workload` is a scenario's mapping or a path, relative to the current folder. `algorithms`
    override the cluster's: per collective one for all dimensions, or one each. `settings` come
    last. Ranks that nothing says are as many as hold a sharded state. Raises ConfigError if ranks
    or memory do not fit.
    """
    said = semantics, network, algorithms, chunks, ignore_memory, stack, settings
    try:
        return _on_cluster(workload, cluster, *said)
    except CapacityError:
        for more in _with_more_ranks(workload, settings or {}):
            with suppress(CapacityError):
                found = _on_cluster(more, cluster, *said)
                ranks = more["plan"]["ranks"]
                note(f"{ranks // 2} devices do not hold the job; taken as {ranks}")
                return found
        raise


def _with_more_ranks(
    workload: Mapping[str, Any] | str, settings: Settings
) -> Iterator[dict[str, Any]]:
    """Of a job whose ranks are taken: twice as many, and so on."""
    plan = None if isinstance(workload, str) else workload.get("plan")
    if isinstance(workload, str) or not isinstance(plan, Mapping):
        return
    ranks = plan.get("ranks")
    named = {name.rpartition(".")[2] for name in settings if name.startswith("workload.plan.")}
    if not isinstance(ranks, Taken) or {"ranks", "world_size", "dp"} & named:
        return
    for times in range(1, _MOST_DOUBLINGS + 1):
        yield {**workload, "plan": {**plan, "ranks": Taken(ranks * 2**times)}}


def _on_cluster(
    workload: Mapping[str, Any] | str,
    cluster: str,
    semantics: Semantics,
    network: str,
    algorithms: Mapping[str, tuple[str, ...]] | None,
    chunks: int | None,
    ignore_memory: bool,
    stack: str | None,
    settings: Settings | None,
) -> Scenario:

    def with_collectives(tree: dict[str, Any]) -> dict[str, Any]:
        dimensions = len(tree["cluster"]["topology"])
        chosen: dict[str, Any] = {
            kind: list(names * dimensions if len(names) == 1 else names)
            for kind, names in (algorithms or {}).items()
        }
        if chunks is not None:
            chosen["chunks"] = chunks
        return tree | {"collectives": tree.get("collectives", {}) | chosen} if chosen else tree

    given = _with_compute(workload, settings or {})
    keys = [*(algorithms or {}), *([] if chunks is None else ["chunks"])]
    tree = {
        "workload": {"templates": workload} if isinstance(workload, str) else workload,
        "cluster": _cluster(cluster, given),
        "semantics": semantics,
        "network": network,
    } | ({"stack": stack} if stack else {})
    whole = with_settings(tree, given, "", with_collectives, keys)
    scenario = scenario_of(DOCUMENT.read(whole, "", ""))
    if isinstance(scenario.workload, TrainingStep):
        scenario = scenario.replace(workload=_laid_out(scenario.workload, cluster, given))
    if not ignore_memory and isinstance(scenario.workload, WorkloadFile | TrainingStep):
        machine = scenario.machine
        workload_made = templates_of(scenario.workload)
        if lack := lack_of_memory(workload_made, *machine.room):
            raise CapacityError("--cluster", f"{lack}, or run it all the same with --ignore-memory")
    if scenario.semantics != "yantra" and not any(one.startswith("resources") for one in given):
        return scenario.replace(resources=ASTRA_SIM_RESOURCES)
    return scenario


def _with_compute(workload: Mapping[str, Any] | str, given: Settings) -> Settings:
    """Settings that keep the durations of a schedule that states nothing else (GOAL)."""
    from yantra.chakra.heads import COMPUTE, stated_in

    traces = None if isinstance(workload, str) else workload.get("traces")
    if not isinstance(traces, str) or any(name.startswith(_COMPUTE) for name in given):
        return given
    says = stated_in(traces.replace("{rank}", "0")).get(COMPUTE)
    return {**given, _COMPUTE: "recorded"} if says == "recorded" else given


def _laid_out(step: TrainingStep, cluster: str, settings: Settings) -> TrainingStep:
    """A step whose narrow weights have transposed copies only where the GPUs need them."""
    from yantra.fabric.infragraph import is_infragraph

    if is_infragraph(cluster):
        return step
    plan, machine = plan_of(step), clusters.load(settings.get("cluster.name", cluster))
    if for_machine(plan, any_layout=machine.any_layout) == plan:
        return step
    return step.replace(plan=(*step.plan, ("transposed_weights", False)))


_COMPUTE = "cluster.device.compute"


def _cluster(name: str, settings: Settings) -> dict[str, Any]:
    from yantra.fabric.infragraph import is_infragraph

    if not is_infragraph(name):
        clusters.load(settings.get("cluster.name", name))
        return {"name": name}
    from yantra.scenario.on_infragraph import cluster_tree

    return cluster_tree(name, settings)
