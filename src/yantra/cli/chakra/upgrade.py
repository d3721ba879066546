"""`yantra chakra upgrade`: a trace of an older layout, rewritten in today's."""

from __future__ import annotations

import sys

import click


@click.command()
@click.argument("old", type=click.Path())
@click.option("-o", "--output", type=click.Path(), required=True, help="The file to write (.et).")
@click.option("--layout", help="The layout of OLD, for a file that fits several.")
def command(old: str, output: str, layout: str | None) -> int:
    """Read the trace OLD, of whatever layout, and write it in today's.

    JSON text is read too. A result whose name ends in .gz is packed.
    """
    from yantra import chakra
    from yantra.chakra import LAYOUTS

    trace = chakra.upgrade(old, output, layout=layout)
    found = trace.layout
    nodes = "1 node" if len(trace) == 1 else f"{len(trace)} nodes"
    sys.stdout.write(f"{old}: layout {found} ({LAYOUTS[found]}), {nodes}, written to {output}\n")
    return 0
