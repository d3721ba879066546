"""A run's answer for the page: figures as in `yantra run --json`, words, pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yantra.base.units import format_time
from yantra.compile.templates import TemplateGraphs
from yantra.export.report import overview
from yantra.export.report.run import Run
from yantra.result import Result
from yantra.result.tables import nanoseconds
from yantra.scenario import Scenario, TrainingStep
from yantra.scenario.training import templates_of
from yantra.ui.memory_picture import memory
from yantra.ui.step_picture import step
from yantra.workloads.templates import Workload

_LEAST = 0.001
ABOUT: Mapping[str, str] = {
    "step time": "from the start of the step to the end of the last rank; the second pair of "
    "times holds 90 of 100 such jobs",
    "tokens/s": "tokens of all devices per second",
    "MFU, HFU": "FLOPs that the model needs, and those that run, over what the devices could do at "
    "the dense peak of the data sheet",
    "memory": "what the fullest rank needs, of what a device has; some is reserved for context, "
    "communication buffers and fragmentation",
    "pipeline bubble": "share of the step in which a device does nothing for its stage",
    "cost": "what all devices cost for the step, and a million tokens, at the price per hour",
    "energy": "what all devices draw for the step, and a million tokens",
    "rests on": "the measurements and the stack from which the time follows",
}
"""Meaning of each figure."""


def answer(result: Result) -> dict[str, Any]:
    """What the page shows of a run; times in ns, shares of 1."""
    figures, run = result.figures, Run(result)
    low, high = figures.time_low_ns, figures.time_high_ns
    is_known = low is not None and high is not None
    return {
        "makespan_ns": result.makespan_ns,
        "time": format_time(figures.step_time_ns or result.makespan_ns),
        "interval": f"{format_time(low or 0)} to {format_time(high or 0)}" if is_known else "",
        "ran": result.what_ran.text,
        "bound": result.bound_by.sentence(),
        "figures": figures.as_dict(),
        "lines": [[name, text, ABOUT.get(name, "")] for name, text in figures.lines()],
        "gains": list(_gains(result)),
        "pictures": {
            "time": overview.breakdown(run),
            "memory": memory(_templates(result), result.model.scenario.machine),
            "step": step(run),
        },
        "warnings": result.warnings,
    }


def lacking(scenario: Scenario) -> dict[str, Any]:
    workload = scenario.workload
    made = templates_of(workload) if isinstance(workload, TrainingStep) else None
    return {"pictures": {"memory": memory(made, scenario.machine)}}


def _templates(result: Result) -> Workload | None:
    graphs = result.model.graphs
    return graphs.workload if isinstance(graphs, TemplateGraphs) else None


def _gains(result: Result) -> list[list[Any]]:
    whole = max(result.outcome.finish) or 1
    found = []
    for gain in sorted(result.gains or (), key=lambda one: (not one.kind, -one.ticks)):
        if (share := gain.ticks / whole) >= _LEAST:
            left = nanoseconds(whole - gain.ticks, result.model.ticks_per_ns) or 0
            found.append([gain.text, share, format_time(left)])
    return found
