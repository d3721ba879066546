"""`yantra workload show`: shows what a workload holds: totals, communication, memory, schedule."""

from __future__ import annotations

import json
import sys

import click

from yantra.cli.command import WithExamples, json_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra workload show step.yw",
        "yantra workload show step.yw --json",
    ],
)
@click.argument("workload", type=click.Path())
@json_option
def command(workload: str, as_json: bool) -> None:
    """Show what WORKLOAD holds: a step's operations, communication, memory and schedule."""
    from yantra.workloads.describe import as_dict, report
    from yantra.workloads.templates import load

    opened = load(workload)
    if as_json:
        sys.stdout.write(json.dumps(as_dict(opened), ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(report(opened))
