"""`yantra schema`: prints the JSON Schema of scenario files, or of saved results."""

from __future__ import annotations

import sys
from typing import Any

import click

from yantra.cli.command import WithExamples, print_json


@click.command(
    cls=WithExamples,
    examples=["yantra schema", "yantra schema -o scenario.schema.json", "yantra schema result"],
)
@click.argument("of", type=click.Choice(["scenario", "result"]), default="scenario")
@click.option("-o", "--output", type=click.Path(), help="Write it to this file instead.")
def command(of: str, output: str | None) -> None:
    """Print the JSON Schema (draft 2020-12) of scenario files, or of results as -o writes them.

    Editors then complete keys and names. With the YAML language server, a scenario's first line
    names it, as -o prints:

    # yaml-language-server: $schema=scenario.schema.json
    """
    form = _schema(of)
    if output is None:
        print_json(form)
        return
    from json import dumps

    from yantra.base.output import write_text

    write_text(output, dumps(form, ensure_ascii=False, indent=1) + "\n")
    if of == "scenario":
        sys.stdout.write(f"# yaml-language-server: $schema={output}\n")


def _schema(of: str) -> dict[str, Any]:
    if of == "scenario":
        from yantra.scenario import json_schema

        return json_schema()
    from importlib import resources
    from json import loads

    text = resources.files("yantra.export").joinpath("result.schema.json").read_text("utf-8")
    form: dict[str, Any] = loads(text)
    return form
