"""`yantra cluster`: named clusters, one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Tools(Commands):
    was: ClassVar = {"list": "show"}  # without a name it lists
    package = "yantra.cli.cluster"
    known: ClassVar = {
        "show": "List the named clusters, or show every number of one with its source.",
        "collectives": "Say how long collectives take on a cluster, as measured.",
        "export": "Write a fabric in the form of another program.",
    }


@click.command(
    cls=_Tools,
    examples=[
        "yantra cluster show",
        "yantra cluster show hgx-h100",
        "yantra cluster collectives hgx-h100 --ranks 8",
    ],
)
def command() -> None:
    """List named clusters, show their numbers with sources, and write fabrics."""
