"""`yantra chakra draw`: draws the graph of a trace."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    seldom=(
        "hops",
        "full",
        "lanes",
        "time_limit",
    ),
    examples=[
        "yantra chakra draw job.0.et -o job.dot",
        "yantra chakra draw job.0.et --around 1 --hops 1 -o part.dot --json",
    ],
)
@click.argument("trace", type=click.Path())
@click.option(
    "-o", "--output", type=click.Path(), required=True, help="A file .dot, .svg, .pdf or .graphml."
)
@click.option("--nodes", metavar="IDS", help="Draw these nodes only, such as 100-199 or 7,9-12.")
@click.option(
    "--around", metavar="ID", type=click.IntRange(min=0), help="Draw what is near a node."
)
@click.option(
    "--hops",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="Edges that --around follows.",
)
@click.option("--full", is_flag=True, help="A box for every node, however many there are.")
@click.option("--lanes", is_flag=True, help="Put threads, streams and communicators in frames.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds that graphviz may take.",
)
@json_option
def command(
    trace: str,
    output: str,
    nodes: str | None,
    around: int | None,
    hops: int,
    full: bool,
    lanes: bool,
    time_limit: float,
    as_json: bool,
) -> int:
    """Draw the graph of TRACE, a Chakra trace or a recording of one rank.

    A large graph is summarised, unless --full. SVG and PDF need graphviz; GraphML is always whole.
    """
    from yantra.tracing.inspect.draw import Cut, draw, format_of
    from yantra.tracing.pytorch.in_memory import seen_of, trace_of

    read = trace_of if format_of(output) == "graphml" else seen_of
    part = Cut(nodes, around, hops) if nodes is not None or around is not None else None
    drawn = draw(read(trace), output, part, whole=full, lanes=lanes, time_limit_s=time_limit)
    if as_json:
        print_json({"output": output, "drawn": drawn})
    else:
        sys.stdout.write(f"{output}: {drawn}\n")
    return 0
