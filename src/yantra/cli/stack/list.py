"""`yantra stack list`: lists the named stacks."""

from __future__ import annotations

import json
import sys

import click

from yantra.cli.command import WithExamples, json_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra stack list",
        "yantra stack list --json",
    ],
)
@json_option
def command(as_json: bool) -> None:
    """List the named stacks: what multiplies measured times, by machine.

    Factors are those of matrix products, of attention and of all else; the interval is that of a
    step's time in 90 of 100 cases.
    """
    from yantra.base.text import table
    from yantra.fabric import stacks
    from yantra.fabric.stacks.describe import HEAD, overview, rows_of

    known = [stacks.load(name) for name in stacks.names()]
    if as_json:
        form = [overview(stack) for stack in known]
        sys.stdout.write(json.dumps(form, ensure_ascii=False, indent=1) + "\n")
    else:
        lines = table(HEAD, [row for stack in known for row in rows_of(stack)], left=2)
        sys.stdout.write("\n".join(lines) + "\n")
