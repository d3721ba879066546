"""`yantra schema`: prints the JSON Schema of scenario files."""

from __future__ import annotations

import click

from yantra.cli.command import WithExamples, print_json


@click.command(
    cls=WithExamples,
    examples=["yantra schema", "yantra schema -o scenario.schema.json"],
)
@click.option("-o", "--output", type=click.Path(), help="Write it to this file instead.")
def command(output: str | None) -> None:
    """Print the JSON Schema (draft 2020-12) of scenario files.

    An editor that knows it completes keys and names, and marks what is wrong. For those with the
    YAML language server, a scenario file names it in its first line:

    # yaml-language-server: $schema=scenario.schema.json
    """
    from yantra.scenario import json_schema

    form = json_schema()
    if output is None:
        print_json(form)
        return
    from json import dumps

    from yantra.base.output import write_text

    write_text(output, dumps(form, ensure_ascii=False, indent=1) + "\n")
