"""`yantra cluster list`: lists the named clusters."""

from __future__ import annotations

import json
import sys

import click

from yantra.cli.command import WithExamples, json_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra cluster list",
        "yantra cluster list --json",
    ],
)
@json_option
def command(as_json: bool) -> None:
    """List the named clusters: rates per device, of links in one direction."""
    from yantra.base.text import table
    from yantra.fabric import clusters
    from yantra.fabric.clusters.describe import HEAD, overview, row

    machines = [clusters.load(name) for name in clusters.names()]
    if as_json:
        form = [overview(machine) for machine in machines]
        sys.stdout.write(json.dumps(form, ensure_ascii=False, indent=1) + "\n")
    else:
        lines = table(HEAD, [row(machine) for machine in machines], left=len(HEAD))
        sys.stdout.write("\n".join(lines) + "\n")
