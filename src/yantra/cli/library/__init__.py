"""`yantra library`: traces from recipes, one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Tools(Commands):
    package = "yantra.cli.library"
    known: ClassVar = {
        "list": "List recipes, or show how one is made and what it gives.",
        "build": "Build traces from recipes, on all cores.",
        "search": "Find recipes by tags and numbers.",
    }


@click.command(
    cls=_Tools,
    examples=[
        "yantra library search 'moe, pp > 4, fsdp'",
        "yantra library build 'width.h1k.*' -o traces",
    ],
)
def command() -> None:
    """Make traces from hundreds of recipes: models, plans, engines, recordings."""
