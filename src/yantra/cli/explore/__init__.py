"""`yantra explore`: studies over clusters, sizes and speeds, one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Studies(Commands):
    package = "yantra.cli.explore"
    known: ClassVar = {
        "breaks": "Say at which speed of a part another plan wins.",
        "next": "Say what the next dollar is best spent on.",
        "odds": "Say how sure the winner of a study is.",
        "report": "Write the page of a study.",
        "run": "Run a study, or the rest of an unfinished one.",
        "why": "Say why a study did not choose a plan.",
    }


@click.command(cls=_Studies, examples=["yantra explore run study.yaml -o study"])
def command() -> None:
    """Study which cluster, of which size and speed, is best for a model."""
