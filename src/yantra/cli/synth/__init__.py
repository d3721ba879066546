"""`yantra synth`: jobs drawn anew, one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Steps(Commands):
    package = "yantra.cli.synth"
    known: ClassVar = {
        "fit": "Find the rules that jobs have in common.",
        "sample": "Draw jobs by rules, at other settings.",
        "judge": "Judge drawn jobs beside real ones: fidelity, behaviour, privacy.",
    }


@click.command(
    cls=_Steps,
    examples=[
        "yantra synth fit jobs -o jobs.ysyn",
        "yantra synth sample jobs.ysyn --set layers=96 --set tp=8 -o drawn",
    ],
)
def command() -> None:
    """Draw jobs that behave as yours at other settings, and hide what they are."""
