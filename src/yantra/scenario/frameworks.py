"""The framework that a workload names, for `stack: auto`:

a workload file in `about`, a step in `framework`, its arguments or its plan's words, traces in the
first one's metadata.
"""

from __future__ import annotations

from os import path as paths
from typing import TYPE_CHECKING, Any

from yantra.fabric.stacks import NOBODY, Named, stack_for
from yantra.fabric.stacks.choice import AUTO
from yantra.fabric.stacks.find import of_kind
from yantra.fabric.stacks.types import DENSE, MOE
from yantra.scenario.training import STEP, templates_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.fabric.stacks import Stack
    from yantra.workloads.templates import Workload


def stack_of_job(
    workload: Any, folder: str, cluster: str | None = None, dtype: str | None = None
) -> Stack:
    return stack_for(named_by(workload, folder), cluster, dtype)


def for_job(stack: str, workload: Any, folder: str) -> str:
    """Return a stack's name, without a release that of the job's kind."""
    if of_kind(stack, is_moe=True) == stack:
        return stack
    return of_kind(stack, named_by(workload, folder).kind == MOE)


def named_by(workload: Any, folder: str) -> Named:
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
    if tree.get("stack") != AUTO:
        return tree
    stack = stack_of_job(tree.get("workload"), folder)
    return {**tree, "stack": stack.scenario_part()}
