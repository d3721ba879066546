"""`yantra chakra diff`: shows how two traces differ, with the exit status of diff(1)."""

from __future__ import annotations

import json
import sys

import click

from yantra.cli.command import WithExamples, json_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra chakra diff job.0.et job.1.et",
        "yantra chakra diff job.0.et job.1.et --ignore name --json",
        "yantra chakra diff rank0.json.gz rank1.json.gz",
    ],
)
@click.argument("a", type=click.Path())
@click.argument("b", type=click.Path())
@click.option(
    "--ignore",
    multiple=True,
    metavar="NAME",
    help="Leave out a field, an attribute, or ids, order, metadata; may be repeated.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help="Entries shown of each kind; 10 in text and all in JSON if left out.",
)
@click.option("--times", is_flag=True, help="Price operators of recorded traces, as of recordings.")
@json_option
def command(
    a: str, b: str, ignore: tuple[str, ...], limit: int | None, times: bool, as_json: bool
) -> int:
    """Show how trace B differs from trace A.

    Of two recordings it shows how much time each operator of B costs more than in A. The exit
    status is 0 if they are equal, 1 if they differ, 2 if one cannot be read.
    """
    from yantra import chakra
    from yantra.tracing.pytorch.in_memory import are_recordings

    if times or are_recordings([a]) or are_recordings([b]):
        if ignore:
            raise click.UsageError("--ignore goes with traces that are not priced by --times")
        return _times(a, b, limit, as_json)
    from yantra.tracing.inspect.diff import diff
    from yantra.tracing.inspect.diff.report import as_dict, text

    found = diff(chakra.read(a), chakra.read(b), ignore)
    if as_json:
        form = as_dict(found, (a, b), limit)
        sys.stdout.write(json.dumps(form, ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(text(found, (a, b), 10 if limit is None else limit))
    return 0 if found.equal else 1


def _times(a: str, b: str, limit: int | None, as_json: bool) -> int:
    from yantra.tracing.inspect.diff import times, times_text
    from yantra.tracing.pytorch.in_memory import trace_of

    found = times.times(trace_of(a), trace_of(b), (a, b))
    if as_json:
        form = times_text.as_dict(found, (a, b), limit)
        sys.stdout.write(json.dumps(form, ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(times_text.text(found, (a, b), 10 if limit is None else limit))
    return 0 if found.equal else 1
