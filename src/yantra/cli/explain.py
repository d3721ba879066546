"""`yantra explain`: why a run takes as long as it does, in words."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.file_options import case_of, cluster_option, set_option, stack_option
from yantra.cli.plugin_option import option as plugin_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra explain result.json",
        "yantra explain result.json --no-runs",
        "yantra explain result.json --advice",
        "yantra explain result.json --json",
        "yantra explain step.yaml",
        "yantra explain step.yw --cluster hgx-h100",
        "yantra explain step.yaml --set collectives.chunks=8",
    ],
)
@click.argument("file", type=click.Path())
@click.option("--no-runs", is_flag=True, help="Run nothing: explain what a result holds.")
@click.option(
    "--advice", is_flag=True, help="Also try faster parts and other plans, and rank them."
)
@cluster_option
@set_option
@stack_option
@plugin_option
@json_option
def command(
    file: str,
    cluster: str | None,
    settings: tuple[str, ...],
    stack: str | None,
    no_runs: bool,
    advice: bool,
    as_json: bool,
) -> int:
    """Say what bounds the run of FILE, a result in JSON or a file that yantra run takes.

    The critical path by kind and phase, and what removing each cause would gain, by runs without
    it.
    """
    if advice and no_runs:
        raise click.UsageError("--advice needs runs, which --no-runs forbids; give one of the two")
    from yantra.cli.progress import progress
    from yantra.explain import explain

    if no_runs and (settings or stack):
        flag = "--set" if settings else "--stack"
        raise click.UsageError(f"{flag} needs a run, which --no-runs forbids")
    case = case_of(file, cluster, settings, stack) if cluster or settings or stack else file
    with progress("running without each cause") as report:
        explanation = explain(case, runs=not no_runs, progress=report, advise=advice)
    if as_json:
        print_json(explanation.data)
    else:
        sys.stdout.write(explanation.text() + "\n")
    return 0
