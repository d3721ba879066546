"""`yantra trace look`: what a recording is, and what it can answer."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    examples=["yantra trace look device.json", "yantra trace look 'device.{rank}.json' --json"],
)
@click.argument("traces", nargs=-1, required=True, type=click.Path(), metavar="TRACE...")
@json_option
def command(traces: tuple[str, ...], as_json: bool) -> None:
    """Say what TRACE... are: kind, device, ranks, steps, gaps, and what they can answer.

    TRACE is a recording or a Chakra trace, one per rank, a pattern with {rank} or a folder.
    """
    from yantra.cli import warn
    from yantra.compute.retarget.gpus import device_named
    from yantra.tracing.meant import meant
    from yantra.tracing.why.look import look

    found, warnings = look(meant(traces), device_named)
    warn(warnings)
    if as_json:
        print_json(found.as_dict())
    else:
        sys.stdout.write(found.text())
