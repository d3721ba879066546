"""`yantra chakra obfuscate`: hides what traces reveal about their model, and reports what shows."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.plugin_option import option as plugin_option


@click.command(
    cls=WithExamples,
    seldom=(
        "epsilon",
        "groups",
        "groups_output",
        "scenario",
    ),
    examples=[
        "yantra chakra obfuscate 'job.{rank}.et' --level 1 --key me -o 'hid.{rank}.et'",
        "yantra chakra obfuscate job.0.et --level 3 --key key.txt -o hidden.et --json",
    ],
)
@click.argument("traces", nargs=-1, required=True, type=click.Path(), metavar="TRACE...")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    help="File to write, or a pattern with {rank}.",
)
@click.option("--level", type=click.IntRange(1, 4), required=True, help="How much to hide.")
@click.option("--key", required=True, help="The secret: a file, or the text itself.")
@click.option("--epsilon", type=float, help="Noise on counts of durations (levels 3 and 4).")
@click.option("--groups", type=click.Path(), help="Group file: JSON, group name -> ranks.")
@click.option("--groups-output", type=click.Path(), help="Where the new group file goes.")
@click.option("--scenario", type=click.Path(), help="Scenario whose cluster runs both forms.")
@plugin_option
@click.option("--report", type=click.Path(), help="Write the report as JSON.")
@json_option
def command(
    traces: tuple[str, ...],
    output: str,
    level: int,
    key: str,
    epsilon: float | None,
    groups: str | None,
    groups_output: str | None,
    scenario: str | None,
    report: str | None,
    as_json: bool,
) -> int:
    """Hide what TRACE... reveal: names (1), numbers (2), exact sizes and times (3), nodes (4).

    TRACE is a file, one per rank of a job, or a pattern such as job.{rank}.et. Each level does what
    those below it do. All ranks of a job must be given together.
    """
    from yantra.cli import warn
    from yantra.run.obfuscate import Targets, obfuscate_job
    from yantra.tracing.inspect.rank_traces import load_job

    warnings: list[str] = []
    members = None
    if groups is not None:
        from yantra.tracing.inspect.groups import read_group_file

        members, warnings = read_group_file(groups)
    cluster = None
    if scenario is not None:
        from yantra.scenario import load

        cluster = load(scenario)
    result = obfuscate_job(
        load_job(traces),
        Targets(output, groups_output, report),
        level=level,
        key=key,
        epsilon=epsilon,
        groups=members,
        scenario=cluster,
    )
    warn([*warnings, *result.warnings])
    if as_json:
        print_json(result.as_dict())
    else:
        sys.stdout.write(result.text())
    return 0
