"""`yantra stack show`: every term of a stack with its source."""

from __future__ import annotations

import json
import sys

import click

from yantra.cli.command import WithExamples, json_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra stack show megatron-2022",
        "yantra stack show ./my-megatron.yaml --json",
    ],
)
@click.argument("name")
@json_option
def command(name: str, as_json: bool) -> None:
    """Show the terms of a stack, by name or file, each with its source."""
    from yantra.fabric import stacks
    from yantra.fabric.stacks.describe import overview, report

    stack = stacks.load(name, where="NAME")
    if as_json:
        sys.stdout.write(json.dumps(overview(stack), ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(report(stack))
