"""`yantra run` of several jobs on one cluster."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from yantra.cli import warn
from yantra.cli.command import print_json
from yantra.scenario.settings import Settings

if TYPE_CHECKING:
    from yantra.run.together import Together

_ALLOWED = ("files", "settings", "as_json", "ignore_memory", "plugin", "output", "html")


def command(
    context: click.Context,
    file: str,
    settings: Settings,
    *,
    as_json: bool,
    ignore_memory: bool,
    output: str | None = None,
    html: str | None = None,
) -> int:
    """Run a file's jobs and print their effect on each other."""
    from yantra.run.together import simulate
    from yantra.scenario.jobs import load
    from yantra.scenario.text import placing

    _refuse_options(context, file)
    jobs = load(file, settings)
    with placing(file):
        done = simulate(jobs, ignore_memory=ignore_memory)
    if not as_json:
        warn([*jobs.warnings, *done.result.model.warnings])
    if output or html or as_json:
        from yantra.export import together

        if output:
            together.write_json(done, output)
        if html:
            together.write_report(done, html)
        if as_json:
            print_json(together.document(done))
            return 0
    sys.stdout.write(_text(done))
    return 0


def _text(done: Together) -> str:
    from yantra.base.fields import named
    from yantra.base.text import count, rank_list, table
    from yantra.base.units import format_time

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
    network = named(done.result.model.scenario.network)
    last = format_time(done.end_ns)
    lines = [
        f"{count(len(cells), 'job')} on {network}, the last ends at {last}",
        *table(head, cells, left=2),
        *([] if done.disturbed is None else done.disturbed.sentences()),
    ]
    return "\n".join(lines) + "\n"


def _refuse_options(context: click.Context, file: str) -> None:
    for option in context.command.params:
        name = option.name or ""
        if name in _ALLOWED or context.get_parameter_source(name) is not (
            click.core.ParameterSource.COMMANDLINE
        ):
            continue
        flag = option.opts[0]
        raise click.UsageError(f"{flag} goes with one job; {file} is a list of jobs")
