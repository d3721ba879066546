"""`yantra stack`: named stacks, one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Tools(Commands):
    package = "yantra.cli.stack"
    known: ClassVar = {
        "list": "List the named stacks.",
        "show": "Show every term of a stack with its source.",
    }


@click.command(
    cls=_Tools,
    examples=[
        "yantra stack list",
        "yantra stack show megatron-2022",
    ],
)
def command() -> None:
    """List named stacks (frameworks), and show their terms with sources."""
