"""What `yantra run` prints of several jobs on one cluster."""

from __future__ import annotations

import sys

import click

from yantra.cli import warn
from yantra.cli.command import print_json
from yantra.scenario.settings import Settings

_ALLOWED = ("file", "settings", "as_json", "ignore_memory", "plugin")


def command(
    context: click.Context, file: str, settings: Settings, *, as_json: bool, ignore_memory: bool
) -> int:
    """Run the jobs of a file and print what they do to each other."""
    from yantra.base.fields import named
    from yantra.base.text import rank_list, table
    from yantra.base.units import format_time
    from yantra.run.together import simulate
    from yantra.scenario.jobs import load

    _refuse_options(context, file)
    jobs = load(file, settings)
    done = simulate(jobs, ignore_memory=ignore_memory)
    if not as_json:
        warn([*jobs.warnings, *done.result.model.warnings])
    if as_json:
        rows = [
            {
                "name": one.job.name,
                "ranks": list(one.job.ranks),
                "at_ns": one.job.at_ns,
                "together_ns": one.together_ns,
                "alone_ns": one.alone_ns,
                "slowdown": one.slowdown,
            }
            for one in done.times
        ]
        print_json({"network": named(jobs.shared.network), "end_ns": done.end_ns, "jobs": rows})
        return 0
    cells = [
        (
            one.job.name,
            rank_list(one.job.ranks),
            format_time(one.job.at_ns),
            format_time(one.together_ns),
            format_time(one.alone_ns),
            f"{one.slowdown:.3f}",
        )
        for one in done.times
    ]
    head = ("job", "ranks", "begins", "together", "alone", "slowdown")
    last = format_time(done.end_ns)
    sys.stdout.write(
        f"{len(cells)} jobs on {named(jobs.shared.network)}, the last ends at {last}\n"
    )
    sys.stdout.write("\n".join(table(head, cells, left=2)) + "\n")
    return 0


def _refuse_options(context: click.Context, file: str) -> None:
    for option in context.command.params:
        name = option.name or ""
        if name in _ALLOWED or context.get_parameter_source(name) is not (
            click.core.ParameterSource.COMMANDLINE
        ):
            continue
        flag = option.opts[0]
        raise click.UsageError(f"{flag} goes with one job; {file} is a list of jobs")
