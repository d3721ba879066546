"""`yantra cluster`: named clusters, one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Tools(Commands):
    was: ClassVar = {"list": "show"}  # without a name it lists
    moved: ClassVar = {
        "collectives": "yantra collective bench --cluster NAME --ranks N",
        "export": "yantra topology show KIND|FILE --infragraph OUTPUT",
    }
    package = "yantra.cli.cluster"
    known: ClassVar = {
        "show": "List the named clusters, or show every number of one with its source.",
    }


@click.command(
    cls=_Tools,
    examples=[
        "yantra cluster show",
        "yantra cluster show hgx-h100",
    ],
)
def command() -> None:
    """List named clusters, and show their numbers with sources."""
