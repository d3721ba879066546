"""`yantra chakra rewrite`: writes a trace of any layout, or its JSON, in today's or as JSON."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import layouts

_JSON = (".json", ".json.gz")


@click.command(
    cls=WithExamples,
    examples=[
        "yantra chakra rewrite old.et -o new.et",
        "yantra chakra rewrite old.et --layout 0.0.1 -o new.et --json",
        "yantra chakra rewrite job.0.et",
        "yantra chakra rewrite job.0.et -o job.0.json",
        "yantra chakra rewrite trace.json -o trace.et",
    ],
)
@click.argument("source", type=click.Path())
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="The file to write: a trace, or JSON if it ends in .json or .json.gz; by default JSON to "
    "standard output.",
)
@click.option(
    "--layout", shell_complete=layouts, help="The layout of SOURCE, for a file that fits several."
)
@json_option
def command(source: str, output: str | None, layout: str | None, as_json: bool) -> int:
    """Write SOURCE, a trace of any layout or its JSON, in today's layout, or as JSON.

    JSON is the text of upstream's jsonizer, or read from a workload of the v1 feeder. A file whose
    name ends in .gz is packed.
    """
    from yantra import chakra
    from yantra.chakra import LAYOUTS
    from yantra.chakra.json_text import objects

    trace = chakra.read(source, layout=layout)
    if output is None:
        if as_json:
            raise click.UsageError("--json goes with -o; without it, what is written is JSON")
        sys.stdout.writelines(objects(trace))
        sys.stdout.write("\n")
        return 0
    if output.endswith(_JSON):
        chakra.write_json(trace, output)
    else:
        trace.write(output)
    found = trace.layout
    if as_json:
        print_json({"trace": source, "layout": found, "nodes": len(trace), "output": output})
        return 0
    nodes = "1 node" if len(trace) == 1 else f"{len(trace)} nodes"
    sys.stdout.write(f"{source}: layout {found} ({LAYOUTS[found]}), {nodes}, written to {output}\n")
    return 0
