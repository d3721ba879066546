"""`yantra stack`: named stacks, one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Tools(Commands):
    was: ClassVar = {"list": "show"}  # without a name it lists
    package = "yantra.cli.stack"
    known: ClassVar = {
        "show": "List the named stacks, or show every term of one with its source.",
        "find": "Rank the named stacks on your own measured steps.",
    }


@click.command(
    cls=_Tools,
    examples=[
        "yantra stack show",
        "yantra stack show megatron-2022",
        "yantra stack find steps.csv",
    ],
)
def command() -> None:
    """List, show and rank named stacks (frameworks)."""
