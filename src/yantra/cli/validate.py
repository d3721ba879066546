"""`yantra validate`: checks inputs, runs what is small, and lists all it finds."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from yantra.base.text import count
from yantra.cli.command import WithExamples, json_option
from yantra.cli.file_options import case_of, cluster_option, set_option, stack_option
from yantra.cli.plugin_option import option as plugin_option

if TYPE_CHECKING:
    from yantra.run.validate import Report


@click.command(
    cls=WithExamples,
    examples=[
        "yantra validate step.yaml",
        "yantra validate step.yaml --json",
        "yantra validate step.yw --cluster hgx-h100",
        "yantra validate step.yaml --set collectives.chunks=8",
        "yantra validate --workload-configuration=step \\\n"
        "    --system-configuration=system.json \\\n"
        "    --network-configuration=network.yml \\\n"
        "    --remote-memory-configuration=memory.json",
    ],
    context_settings={"ignore_unknown_options": True},
)
@click.argument("inputs", nargs=-1, type=click.UNPROCESSED)
@cluster_option
@set_option
@stack_option
@plugin_option
@json_option
def command(
    inputs: tuple[str, ...],
    cluster: str | None,
    settings: tuple[str, ...],
    stack: str | None,
    as_json: bool,
) -> int:
    """Check INPUTS: a file that yantra run takes, or the options of `yantra astra-sim`.

    A job of up to two million events is run, so the answer is that of yantra run.
    """
    report = _check(inputs, cluster, settings, stack)
    if as_json:
        form = {
            "valid": report.valid,
            "exit_code": report.exit_code,
            "ranks": report.ranks,
            "nodes": report.nodes,
            "work": report.work._asdict() if report.work else None,
            "tried": report.tried,
            "findings": [finding._asdict() for finding in report.findings],
        }
        sys.stdout.write(json.dumps(form, ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(_text(report))
    return report.exit_code


def _check(
    inputs: tuple[str, ...], cluster: str | None, settings: tuple[str, ...], stack: str | None
) -> Report:
    from yantra.run.validate import check_astra_sim, check_scenario_file

    if len(inputs) == 1 and not inputs[0].startswith("-"):
        return check_scenario_file(case_of(inputs[0], cluster, settings, stack))
    if inputs and (cluster or settings or stack):
        problem = "--cluster, --set and --stack go with one file, not with astra-sim's options"
        raise click.UsageError(problem)
    if not inputs:
        raise click.UsageError("expected a scenario file or the options of yantra astra-sim")
    from yantra.astra_sim.flags import parse
    from yantra.cli.astra_sim import scenario_of

    return check_astra_sim(parse(inputs), scenario_of)


def _text(report: Report) -> str:
    lines = [f"{finding.severity}: {finding.text}" for finding in report.findings]
    errors = sum(finding.severity == "error" for finding in report.findings)
    warnings = len(report.findings) - errors
    counts = f"{count(errors, 'error')}, {count(warnings, 'warning')}"
    if report.valid:
        size = f"{count(report.ranks, 'rank')}, {count(report.nodes, 'node')}"
        counts = f"valid: {size}; {count(warnings, 'warning')}"
    if report.work:
        counts += f"\nwork: {report.work.text()}"
    if report.valid and not report.tried:
        counts += "\nnot run, as that is much work: only a run can say whether it comes to its end"
    return "\n".join([*lines, counts]) + "\n"
