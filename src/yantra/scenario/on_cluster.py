"""A workload on a named cluster: the scenario of `yantra run X.yw --cluster NAME`.

It is the scenario file that one would write for it, read as any other, so every mistake is named at
the key it would have there. What the file need not say is checked first: whether the memory of the
devices holds what the workload says its ranks need.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yantra.base.errors import CapacityError, ConfigError
from yantra.fabric import clusters
from yantra.fabric.clusters.types import Speeds
from yantra.fabric.infragraph import is_infragraph
from yantra.scenario.layout import DOCUMENT, scenario_of
from yantra.scenario.settings import Settings, with_settings
from yantra.scenario.training import templates_of
from yantra.scenario.types import (
    ASTRA_SIM_RESOURCES,
    Scenario,
    Semantics,
    TrainingStep,
    WorkloadFile,
)
from yantra.workloads.templates.room import lack_of_memory


def on_cluster(
    workload: Mapping[str, Any] | str,
    cluster: str,
    *,
    dtype: str | None = None,
    speeds: Speeds | None = None,
    semantics: Semantics = "yantra",
    network: str = "analytical",
    algorithms: Mapping[str, tuple[str, ...]] | None = None,
    chunks: int | None = None,
    ignore_memory: bool = False,
    stack: str | None = None,
    profile: str | None = None,
    collectives: str | None = None,
    settings: Settings | None = None,
) -> Scenario:
    """Return the scenario of a workload on a cluster, by name or by the path of its file.

    `workload` is that mapping of a scenario file, or the path of a workload file; paths start from
    the current folder.
    `algorithms` names, per collective, one algorithm for all dimensions or one for each, in place
    of those of the cluster. `settings` change single fields last. Raises ConfigError where ranks or
    memory do not fit.
    """

    def with_collectives(tree: dict[str, Any]) -> dict[str, Any]:
        dimensions = len(tree["cluster"]["topology"])
        chosen: dict[str, Any] = {
            kind: list(names * dimensions if len(names) == 1 else names)
            for kind, names in (algorithms or {}).items()
        }
        if chunks is not None:
            chosen["chunks"] = chunks
        return tree | {"collectives": tree.get("collectives", {}) | chosen} if chosen else tree

    given = settings or {}
    described = is_infragraph(cluster)
    if described:
        from yantra.scenario.on_infragraph import cluster_tree

        only_named = {
            "--dtype": dtype,
            "--speeds": speeds,
            "--profile": profile,
            "--collectives": collectives,
        }
        for option, value in only_named.items():
            if value is not None:
                raise ConfigError(option, f"only with a named cluster; got {value} for {cluster}")
        where = cluster_tree(cluster, given)
    else:
        rests = stack or profile or collectives  # on measured kernels
        where = {"name": cluster, "speeds": speeds or ("measured" if rests else "achievable")}
        where |= {"dtype": dtype} if dtype else {}
        where |= {"profile": profile} if profile else {}
        where |= {"collectives": collectives} if collectives else {}
    tree = {
        "workload": {"templates": workload} if isinstance(workload, str) else workload,
        "cluster": where,
        "semantics": semantics,
        "network": network,
    } | ({"stack": stack} if stack else {})
    if not described:
        clusters.load(given.get("cluster.name", cluster))  # a name that nobody knows is told first
    scenario = scenario_of(DOCUMENT.read(with_settings(tree, given, "", with_collectives), "", ""))
    if not ignore_memory and isinstance(scenario.workload, WorkloadFile | TrainingStep):
        machine = scenario.machine
        workload_made = templates_of(scenario.workload)
        if lack := lack_of_memory(workload_made, machine.memory_bytes, machine.name):
            raise CapacityError("--cluster", f"{lack}, or run it all the same with --ignore-memory")
    if scenario.semantics == "astra-sim" and not any(one.startswith("resources") for one in given):
        return scenario.replace(resources=ASTRA_SIM_RESOURCES)
    return scenario
