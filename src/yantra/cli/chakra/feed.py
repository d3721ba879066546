"""`yantra chakra feed`: the order in which a simulator would issue the nodes of a trace."""

from __future__ import annotations

import sys
from itertools import islice
from typing import Literal

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    examples=[
        "yantra chakra feed job.0.et",
        "yantra chakra feed job.0.et --names --limit 10",
        "yantra chakra feed job.0.et --json",
    ],
)
@click.argument("trace", type=click.Path())
@click.option(
    "--semantics",
    type=click.Choice(["v1", "v3"]),
    default="v3",
    show_default=True,
    help="v1 waits for data dependencies, v3 for data and control.",
)
@click.option("--names", is_flag=True, help="Print type and name beside every id.")
@click.option("--limit", type=click.IntRange(min=0), help="Print at most this many nodes.")
@json_option
def command(
    trace: str, semantics: Literal["v1", "v3"], names: bool, limit: int | None, as_json: bool
) -> int:
    """Print the ids of TRACE in the order of issue, one per line.

    Every node ends before the next is issued, lowest id first.
    """
    from yantra.chakra import Feeder
    from yantra.chakra.show import printable

    order = islice(Feeder(trace, semantics), limit)
    if as_json:
        print_json(
            [
                {"id": node.id, "type": str(getattr(node.type, "name", node.type))}
                | {"name": node.name}
                for node in order
            ]
        )
        return 0
    for node in order:
        kind = getattr(node.type, "name", node.type)
        about = f"\t{kind}\t{printable(node.name)}" if names else ""
        sys.stdout.write(f"{node.id}{about}\n")
    return 0
