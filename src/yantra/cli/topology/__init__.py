"""`yantra topology`: fabrics by name or from files, one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Tools(Commands):
    package = "yantra.cli.topology"
    known: ClassVar = {
        "list": "List the kinds of fabrics and their options.",
        "show": "Show counts, bisection and diameter of a fabric; draw it.",
    }


@click.command(
    cls=_Tools,
    examples=[
        "yantra topology list",
        "yantra topology show fat_tree --set k=8",
    ],
)
def command() -> None:
    """List kinds of fabrics, and show the figures of one, or of a graph in a file."""
