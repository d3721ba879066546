"""`yantra compare`: what changed from one result to another, and what explains it."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.file_options import cluster_option, stack_option
from yantra.cli.plugin_option import option as plugin_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra compare result.json other.json",
        "yantra compare result.json other.json --json",
        "yantra compare step.yaml other.yaml",
        "yantra compare result.json other.json --report changes.html",
        "yantra compare result.json other.json step.yaml --report runs.html",
    ],
)
@click.argument("a", type=click.Path())
@click.argument("b", type=click.Path())
@click.argument("more", nargs=-1, type=click.Path())
@cluster_option
@stack_option
@plugin_option
@click.option("--report", type=click.Path(), help="Write it as one HTML file that opens offline.")
@json_option
def command(
    a: str,
    b: str,
    more: tuple[str, ...],
    cluster: str | None,
    stack: str | None,
    report: str | None,
    as_json: bool,
) -> int:
    """Show what changed from A to B: results in JSON, or files that yantra run takes.

    By how much, in which kinds, phases and nodes of the critical path, which add up, and what
    differs in the scenarios. MORE files are compared with A, side by side.
    """
    from yantra.cli.progress import progress
    from yantra.explain import compare, side_by_side
    from yantra.scenario import Case
    from yantra.scenario.recognise import recognise

    if cluster and not any(recognise(file).needs_cluster for file in (a, b, *more)):
        raise click.UsageError("--cluster goes with a workload; none of the files is one")
    settings = {} if stack is None else {"stack": stack}
    cases = [Case(file, cluster, settings) for file in (a, b, *more)]
    with progress("results"):
        comparison = side_by_side(cases) if more else compare(cases[0], cases[1])
        if report:
            comparison.to_report(report)
    if as_json:
        print_json(comparison.data)
    else:
        sys.stdout.write(comparison.text() + "\n")
    return 0
