"""`yantra cluster export`: writes a fabric in the form of another program."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import fabrics


@click.command(
    cls=WithExamples,
    examples=[
        "yantra cluster export leaf_spine --infragraph -o pod.infragraph.yaml",
        "yantra cluster export fat_tree --set k=8 --infragraph \\\n"
        "    -o pod.infragraph.json --json",
    ],
)
@click.argument("fabric", metavar="KIND|FILE", shell_complete=fabrics)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set an option of the kind."
)
@click.option("--infragraph", is_flag=True, help="As InfraGraph, for the package infragraph.")
@click.option(
    "-o", "--output", type=click.Path(), required=True, help="A file .infragraph.yaml or .json."
)
@json_option
def command(
    fabric: str, settings: tuple[str, ...], infragraph: bool, output: str, as_json: bool
) -> None:
    """Write the fabric KIND, or the graph in FILE, for another program."""
    from json import dumps

    from yantra.base.errors import ConfigError
    from yantra.base.output import write_text
    from yantra.base.text import count
    from yantra.fabric.graphs.describe import shown
    from yantra.fabric.infragraph import ENDINGS
    from yantra.fabric.infragraph.writing import document
    from yantra.scenario.settings import parsed
    from yantra.scenario.text import tree_text

    if not infragraph:
        raise ConfigError("yantra cluster export", "expected a form: --infragraph")
    if not output.endswith(ENDINGS):
        expected = f"a file that ends in one of {', '.join(ENDINGS)}"
        raise ConfigError("--output", f"expected {expected}, got {output}")
    graph = shown(fabric, parsed(settings)).graph
    tree = document(graph, fabric)
    text = dumps(tree, indent=1) + "\n" if output.endswith(".json") else tree_text(tree)
    write_text(output, text)
    edges = len(tree["infrastructure"]["edges"])
    if as_json:
        print_json({"output": output, "ranks": graph.ranks, "edges": edges})
    else:
        sys.stdout.write(f"{output}: {count(graph.ranks, 'rank')}, {count(edges, 'edge')}\n")
