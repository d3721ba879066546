"""`yantra stack show`: every term of a stack with its source, or all stacks in a table."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import stacks as stack_names


@click.command(
    cls=WithExamples,
    examples=[
        "yantra stack show",
        "yantra stack show megatron-2022",
        "yantra stack show ./my-megatron.yaml --json",
    ],
)
@click.argument("name", required=False, shell_complete=stack_names)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """Show a stack's terms with sources, by name or file; without NAME, all stacks.

    Factors are of products, attention and the rest; the interval holds 90 of 100 steps.
    """
    from yantra.fabric import stacks
    from yantra.fabric.stacks.describe import overview, report

    if name is None:
        _list(as_json)
        return
    stack = stacks.load(name, where="NAME")
    if as_json:
        print_json(overview(stack))
    else:
        sys.stdout.write(report(stack))


def _list(as_json: bool) -> None:
    from yantra.base.text import table
    from yantra.fabric import stacks
    from yantra.fabric.stacks.describe import HEAD, overview, rows_of

    known = [stacks.load(name) for name in stacks.names()]
    if as_json:
        print_json([overview(stack) for stack in known])
    else:
        lines = table(HEAD, [row for stack in known for row in rows_of(stack)], left=2)
        sys.stdout.write("\n".join(lines) + "\n")
