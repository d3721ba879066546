"""`yantra chakra upgrade`: a trace of an older layout, rewritten in the current one."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import layouts


@click.command(
    cls=WithExamples,
    examples=[
        "yantra chakra upgrade old.et -o new.et",
        "yantra chakra upgrade old.et --layout 0.0.1 -o new.et --json",
    ],
)
@click.argument("old", type=click.Path())
@click.option("-o", "--output", type=click.Path(), required=True, help="The file to write (.et).")
@click.option(
    "--layout", shell_complete=layouts, help="The layout of OLD, for a file that fits several."
)
@json_option
def command(old: str, output: str, layout: str | None, as_json: bool) -> int:
    """Read the trace OLD, of any layout, and write it in the current one.

    JSON text is read too. A result whose name ends in .gz is packed.
    """
    from yantra import chakra
    from yantra.chakra import LAYOUTS

    trace = chakra.upgrade(old, output, layout=layout)
    found = trace.layout
    if as_json:
        print_json({"trace": old, "layout": found, "nodes": len(trace), "output": output})
        return 0
    nodes = "1 node" if len(trace) == 1 else f"{len(trace)} nodes"
    sys.stdout.write(f"{old}: layout {found} ({LAYOUTS[found]}), {nodes}, written to {output}\n")
    return 0
