"""`yantra trace rescale`: a training job at another plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from yantra.cli.command import WithExamples, json_option, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.chakra.trace import Trace


@click.command(
    cls=WithExamples,
    seldom=("groups", "step"),
    examples=[
        "yantra trace rescale job.yw --set dp=x2 --set tp=x0.5 -o new.yw",
        "yantra trace rescale job.yw --set layers=40 -o new.yw --json",
        "yantra trace rescale 'job.{rank}.et' --set dp=x2 -o more",
    ],
)
@click.argument("job", nargs=-1, required=True, type=click.Path(), metavar="JOB...")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="dp, tp, pp, ep, layers, width, sequence, ...: a number, or x and a factor.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    help="The workload file (.yw), or the prefix of a recording's traces.",
)
@click.option("--step", type=click.IntRange(min=0), help="Take this step of a recording alone.")
@click.option("--groups", type=click.Path(), help="Group file: JSON, group name -> ranks.")
@json_option
def command(
    job: tuple[str, ...],
    settings: tuple[str, ...],
    output: str,
    step: int | None,
    groups: str | None,
    as_json: bool,
) -> None:
    """Write a training step as it is at another plan or size.

    JOB is a workload file (.yw), or a recording: a Chakra trace or the profiler's, one per rank, or
    a pattern with {rank}. Says what is kept. What JOB does not determine is refused.
    """
    from zipfile import is_zipfile

    from yantra.cli import warn
    from yantra.tracing.meant import meant

    job = meant(job)
    if len(job) == 1 and (job[0].endswith(".yw") or is_zipfile(job[0])):
        if step is not None:
            raise click.UsageError(f"--step goes with a recording; {job[0]} is a workload file")
        done = _workload(job[0], settings, output)
    else:
        done, problems = _recording(job, settings, output, groups, step)
        warn(problems)
    if as_json:
        print_json({"output": output} | done._asdict())
        return
    click.echo(f"{done.ranks_before} ranks -> {done.ranks}: {', '.join(done.changed)}")
    click.echo(f"kept: {', '.join(done.kept)}")


class _Done(NamedTuple):
    ranks_before: int
    ranks: int
    changed: list[str]
    kept: list[str]


def _workload(job: str, settings: Sequence[str], output: str) -> _Done:
    from yantra.workloads.rescale import rescale
    from yantra.workloads.templates import load

    given = load(job)
    made = rescale(given, settings)
    made.workload.save(output)
    return _Done(given.ranks, made.workload.ranks, made.changed, made.kept)


def _recording(
    job: Sequence[str], settings: Sequence[str], output: str, groups: str | None, step: int | None
) -> tuple[_Done, list[str]]:
    from yantra.base.errors import ConfigError, UnsupportedError
    from yantra.tracing.inspect.groups import read_group_file
    from yantra.tracing.inspect.rank_traces import load_job
    from yantra.tracing.pytorch.in_memory import are_recordings, converted_job
    from yantra.tracing.rescale.rescale import check, rescale

    def refuse(rank: int, trace: Trace) -> None:
        try:
            check(job[0].replace("{rank}", str(rank)), rank, trace, settings)
        except UnsupportedError as error:
            if step is not None:
                raise
            hint = "of a recording of several steps take one alone, with --step N"
            raise UnsupportedError(f"{error}; {hint}") from None

    members, problems = (None, []) if groups is None else read_group_file(groups)
    steps: list[int] = []
    if are_recordings(job):
        made = converted_job(job, step, refuse)
        traces, steps, problems = made.traces, made.steps, [*problems, *made.problems]
    elif step is not None:
        raise ConfigError("--step", "goes with recordings; convert the step with --step K instead")
    else:
        traces = load_job(job)
    try:
        done = rescale(traces, settings, members)
    except UnsupportedError as error:
        if len(steps) < 2 or step is not None:
            raise
        several = f"{len(steps)} steps are recorded (#{steps[0]} to #{steps[-1]})"
        problem = f"{error}; {several}: take one alone, such as --step {steps[-1]}"
        raise UnsupportedError(problem) from None
    done.write(output)
    return _Done(done.ranks_before, len(done.traces), done.changed, done.kept), problems
