"""`yantra device`: described devices, one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Tools(Commands):
    package = "yantra.cli.device"
    known: ClassVar = {
        "show": "Show rates, area, power and cost of a described device.",
    }


@click.command(
    cls=_Tools,
    examples=[
        "yantra device show a100",
        "yantra device show my-device.yaml --json",
    ],
)
def command() -> None:
    """Show time, area, power and cost of a device that a file describes."""
