"""`yantra collective`: what a fabric allows collectives, one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Tools(Commands):
    moved: ClassVar = {"bound": "yantra topology show KIND|FILE --bounds SIZE"}
    package = "yantra.cli.collective"
    known: ClassVar = {
        "bench": "Run a collective by each algorithm and size, beside its bound.",
        "show": "Show who sends what in which round, and draw it.",
        "synthesize": "Make a collective for a fabric, and prove it.",
    }


@click.command(
    cls=_Tools,
    examples=[
        "yantra collective bench torus --sizes '64 KiB, 64 MiB'",
        "yantra collective bench --cluster hgx-h100 --ranks 64",
    ],
)
def command() -> None:
    """Run, make and draw collectives on a fabric."""
