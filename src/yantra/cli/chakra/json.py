"""`yantra chakra json`: a trace to JSON text, JSON text to a trace."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples


@click.command(
    cls=WithExamples,
    examples=[
        "yantra chakra json job.0.et",
        "yantra chakra json job.0.et -o job.0.json",
        "yantra chakra json trace.json -o trace.et",
    ],
)
@click.argument("source", type=click.Path())
@click.option(
    "-o", "--output", type=click.Path(), help="The file to write; by default standard output."
)
def command(source: str, output: str | None) -> int:
    """Turn the trace SOURCE into the jsonizer's text, or JSON text into a trace (.et).

    The content of SOURCE decides which it is, not its name. JSON is the text of upstream's
    jsonizer or a workload of the v1 feeder. A result whose name ends in .gz is packed.
    """
    from yantra import chakra
    from yantra.chakra import files
    from yantra.chakra.json_text import objects

    data = files.load(source)
    trace = chakra.Trace.from_bytes(data, source)
    if files.is_json(data):
        if output is None:
            raise click.UsageError("a trace is binary: name the file to write with -o")
        trace.write(output)
    elif output is None:
        sys.stdout.writelines(objects(trace))
        sys.stdout.write("\n")
    else:
        chakra.write_json(trace, output)
    return 0
