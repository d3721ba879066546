"""`yantra chakra stats`: shows what the traces of a job hold."""

from __future__ import annotations

import json
import sys

import click

from yantra.cli.command import WithExamples, json_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra chakra stats job.0.et",
        "yantra chakra stats 'job.{rank}.et' --top 3",
        "yantra chakra stats 'job.{rank}.et' --json",
    ],
)
@click.argument("traces", nargs=-1, required=True, type=click.Path(), metavar="TRACE...")
@click.option("--groups", type=click.Path(), help="Group file: JSON, group name -> ranks.")
@json_option
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How many operators to list.",
)
def command(traces: tuple[str, ...], groups: str | None, as_json: bool, top: int) -> None:
    """Show what TRACE... hold: nodes, bytes, FLOPs, time, critical path.

    TRACE is a file, one per rank of a job, or a pattern such as job.{rank}.et. Recordings of any
    profiler work too; the balance of PyTorch's says what was read and left out.
    """
    from yantra.cli import warn
    from yantra.cli.progress import progress
    from yantra.tracing.inspect.groups import read_group_file
    from yantra.tracing.inspect.stats import as_dict, report, stats_of_files

    members = None
    if groups is not None:
        members, warnings = read_group_file(groups)
        warn(warnings)
    with progress("reading", counted=True) as tell:
        stats, problems = stats_of_files(traces, members, tell)
    warn(problems)
    if as_json:
        form = as_dict(stats, top)
        sys.stdout.write(json.dumps(form, ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(report(stats, top))
