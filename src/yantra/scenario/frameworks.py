"""Which framework a workload of a scenario names: what `stack: auto` goes by.

A workload file says it in `about`, a step by its field `framework`, the arguments it was read from
or the words of its plan, traces in the metadata of the first. Trade-off: it is looked up in the
plain tree of a scenario, before the cluster is known; only where `auto` asks for it.
"""

from __future__ import annotations

from os import path as paths
from typing import TYPE_CHECKING, Any

from yantra.fabric.stacks import NOBODY, Named, stack_for
from yantra.fabric.stacks.choice import AUTO
from yantra.fabric.stacks.types import DENSE, MOE
from yantra.scenario.training import STEP, templates_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.fabric.stacks import Stack
    from yantra.workloads.templates import Workload


def stack_of_job(
    workload: Any, folder: str, cluster: str | None = None, dtype: str | None = None
) -> Stack:
    """Return the stack of the framework that a workload names, on a machine; else `unknown`."""
    return stack_for(named_by(workload, folder), cluster, dtype)


def named_by(workload: Any, folder: str) -> Named:
    """Return what a workload says of its framework. What is wrong with it others say."""
    if not isinstance(workload, dict):
        return NOBODY
    if "model" in workload:
        step = STEP.read(workload, "workload", folder)
        return _said(templates_of(step), "the workload")
    templates, traces = workload.get("templates"), workload.get("traces")
    if isinstance(templates, str):
        from yantra.workloads.templates import load

        return _said(load(paths.join(folder, templates)), templates)
    if isinstance(traces, str) and "{rank}" in traces:
        from yantra.chakra.heads import EXPERTS, FRAMEWORK, stated_in

        first = traces.replace("{rank}", "0")
        stated = stated_in(paths.join(folder, first))
        kind = MOE if EXPERTS in stated else DENSE
        return Named(stated.get(FRAMEWORK, ""), first, kind)
    return NOBODY


def _said(workload: Workload, where: str) -> Named:
    return Named(workload.framework or "", where, MOE if workload.experts else DENSE)


def with_auto(tree: Mapping[str, Any], folder: str) -> Mapping[str, Any]:
    """Return a scenario on a cluster without a name, with the terms of the stack of its job."""
    if tree.get("stack") != AUTO:
        return tree
    stack = stack_of_job(tree.get("workload"), folder)
    return {**tree, "stack": stack.scenario_part()}
