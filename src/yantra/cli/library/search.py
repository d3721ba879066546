"""`yantra library search`: recipes by tags and numbers."""

from __future__ import annotations

import click

from yantra.cli.command import WithExamples, json_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra library search 'moe, pp > 4, fsdp'",
        "yantra library search 'serving, decode, parameters > 100B' --json",
    ],
)
@click.argument("terms")
@json_option
def command(terms: str, as_json: bool) -> None:
    """Find recipes that meet all TERMS, between commas: tags, or comparisons of numbers."""
    from yantra.cli.library.list import write_rows
    from yantra.library.manifest import manifest
    from yantra.library.search import search

    write_rows(search(terms, manifest().values()), as_json)
