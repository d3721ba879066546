"""`yantra chakra show`: the nodes of a trace, to read."""

from __future__ import annotations

import sys

import click


@click.command()
@click.argument("trace", type=click.Path())
@click.option("--node", type=click.IntRange(min=0), help="Print everything about this node.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=40,
    show_default=True,
    help="Print so many nodes at most.",
)
@click.option("--all", "everything", is_flag=True, help="Print all nodes.")
def command(trace: str, node: int | None, limit: int, everything: bool) -> int:
    """Print the nodes of TRACE: an .et file of any layout, or JSON."""
    from yantra import chakra
    from yantra.chakra import show

    read = chakra.read(trace)
    if node is not None:
        text = show.node_lines(read, node)
    else:
        text = show.lines(read, trace, None if everything else limit)
    sys.stdout.writelines(f"{line}\n" for line in text)
    return 0
