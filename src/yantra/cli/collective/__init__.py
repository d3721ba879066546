"""`yantra collective`: what a fabric allows collectives, one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Tools(Commands):
    package = "yantra.cli.collective"
    known: ClassVar = {
        "bound": "Show how fast collectives can be on a fabric at best.",
        "bench": "Run a collective by each algorithm and size, beside its bound.",
        "show": "Show who sends what in which round, and draw it.",
        "synthesize": "Make a collective for a fabric, and prove it.",
    }


@click.command(
    cls=_Tools,
    examples=["yantra collective bound torus", "yantra collective bound pod.csv --size '1 GiB'"],
)
def command() -> None:
    """Bound, make, measure and draw collectives on a fabric."""
