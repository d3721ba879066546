"""`yantra chakra validate`: checks the traces of a job, each alone and all together."""

from __future__ import annotations

import json
import sys

import click

from yantra.cli.command import WithExamples, json_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra chakra validate 'job.{rank}.et'",
        "yantra chakra validate job.0.et --world-size 4 --json",
    ],
)
@click.argument("traces", nargs=-1, required=True, type=click.Path(), metavar="TRACE...")
@click.option("--groups", type=click.Path(), help="Group file: JSON, group name -> ranks.")
@click.option(
    "--world-size", type=click.IntRange(min=1), help="Ranks of the job, if not all given."
)
@json_option
def command(
    traces: tuple[str, ...], groups: str | None, world_size: int | None, as_json: bool
) -> int:
    """Check TRACE...: each alone, and whether the ranks of the job fit together.

    TRACE is a file, one per rank of a job, or a pattern such as job.{rank}.et; of recordings, the
    traces that they are converted to are checked. The exit status is 2
    if there are errors, else 0.
    """
    from yantra.cli import warn
    from yantra.cli.progress import progress
    from yantra.run.trial import try_order
    from yantra.tracing.inspect.groups import read_group_file
    from yantra.tracing.inspect.validate import check_job

    members = None
    if groups is not None:
        members, warnings = read_group_file(groups)
        warn(warnings)
    with progress("reading", counted=True) as tell:
        report = check_job(traces, groups=members, world_size=world_size, progress=tell)
    try_order(report)
    if as_json:
        sys.stdout.write(json.dumps(report.as_dict(), ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(report.text())
    return report.exit_code
