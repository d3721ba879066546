"""`yantra topology list`: lists the kinds of fabrics and their options."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.plugin_option import option as plugin_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra topology list",
        "yantra topology list --json",
    ],
)
@plugin_option
@json_option
def command(as_json: bool) -> None:
    """List the kinds of fabrics, and the options that each needs and takes."""
    from yantra.base.text import table
    from yantra.fabric.graphs.describe import HEAD, overview

    rows = overview()
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    cells = [(row.name, ", ".join(row.needs), ", ".join(row.takes)) for row in rows]
    sys.stdout.write("\n".join(table(HEAD, cells, left=len(HEAD))) + "\n")
