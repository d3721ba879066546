"""`yantra trace`: questions to a recorded job, one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Questions(Commands):
    package = "yantra.cli.trace"
    known: ClassVar = {
        "record": "Run a PyTorch script, record steps of it, and look at them.",
        "look": "Say what a recording is, and what it can answer.",
        "why": "Say where the time went, who is late, and which transfers are slow.",
        "rescale": "Write a training step as it is at another plan or size.",
        "share": "Draw a recording anew, so that it hides its model.",
    }


@click.command(
    cls=_Questions,
    examples=[
        "yantra trace record -- torchrun train.py",
        "yantra trace look 'device.{rank}.json'",
    ],
)
def command() -> None:
    """Ask a recording where its time went, and what would change it."""
