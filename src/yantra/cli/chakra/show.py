"""`yantra chakra show`: the nodes of a trace, to read."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    examples=[
        "yantra chakra show job.0.et",
        "yantra chakra show job.0.et --node 1",
        "yantra chakra show job.0.et --limit 5 --json",
    ],
)
@click.argument("trace", type=click.Path())
@click.option("--node", type=click.IntRange(min=0), help="Print everything about this node.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=40,
    show_default=True,
    help="Print at most this many nodes.",
)
@click.option("--all", "everything", is_flag=True, help="Print all nodes.")
@json_option
def command(trace: str, node: int | None, limit: int, everything: bool, as_json: bool) -> int:
    """Print the nodes of TRACE: an .et file of any layout, JSON, or a recording of one rank."""
    from yantra.chakra import show
    from yantra.tracing.pytorch.in_memory import trace_of

    read = trace_of(trace)
    if as_json:
        found = range(len(read)) if everything else range(min(limit, len(read)))
        nodes = [read[at] for at in found] if node is None else [read.node(node)]
        about = {"trace": trace, "layout": read.layout, "count": len(read)}
        print_json(about | {"nodes": [show.as_dict(one) for one in nodes]})
        return 0
    if node is not None:
        text = show.node_lines(read, node)
    else:
        text = show.lines(read, trace, None if everything else limit)
    sys.stdout.writelines(f"{line}\n" for line in text)
    return 0
