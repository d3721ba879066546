"""`yantra topology`: fabrics by name or from files, one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Tools(Commands):
    was: ClassVar = {"list": "show"}  # without a name it lists
    package = "yantra.cli.topology"
    known: ClassVar = {
        "show": "List kinds of fabrics, or show counts, bisection and diameter of one; draw it.",
    }


@click.command(
    cls=_Tools,
    examples=[
        "yantra topology show",
        "yantra topology show fat_tree --set k=8",
    ],
)
def command() -> None:
    """List kinds of fabrics, and show the figures of one, or of a graph in a file."""
