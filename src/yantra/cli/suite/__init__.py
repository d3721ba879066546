"""`yantra suite`: benchmark suites, one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Tools(Commands):
    package = "yantra.cli.suite"
    known: ClassVar = {
        "select": "Choose a few traces that stand for many, and say how well.",
        "run": "Run a suite on clusters, and rank them.",
    }


@click.command(
    cls=_Tools,
    examples=[
        "yantra suite select -k 8 -o eight.json",
        "yantra suite run suite.json --cluster hgx-h100 --cluster mi300x",
    ],
)
def command() -> None:
    """Choose traces that stand for many, and rank clusters by them."""
