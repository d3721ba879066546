"""`yantra plot`: a figure for a paper or a slide, as SVG, PDF or PNG."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.file_options import case_of, cluster_option, set_option
from yantra.cli.memory_option import option as memory_option
from yantra.cli.plugin_option import option as plugin_option

_FIGURES = ("links", "bandwidth", "gantt")


@click.command(
    cls=WithExamples,
    examples=[
        "yantra plot links step.yaml -o links.svg",
        "yantra plot bandwidth step.yw --cluster hgx-h100 -o bandwidth.pdf",
        "yantra plot gantt result.json -o gantt.png",
        "yantra plot links step.yaml -o links.svg --json",
    ],
)
@click.argument("figure", type=click.Choice(_FIGURES))
@click.argument("file", type=click.Path())
@click.option("-o", "--output", type=click.Path(), required=True, help="The .svg, .pdf or .png.")
@cluster_option
@set_option
@plugin_option
@memory_option
@json_option("Print where it is, and what it leaves out, as JSON.")
def command(
    figure: str,
    file: str,
    output: str,
    cluster: str | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Draw how busy links are, the bandwidth of collectives by size, or when ranks do what.

    FILE is what yantra run takes. Needs matplotlib: pip install 'yantra[plots]'.
    """
    from yantra.run.simulate import simulate
    from yantra.scenario import load

    case = case_of(file, cluster, settings)
    result = simulate(load(case.path, cluster=case.cluster, settings=case.settings))
    notes = result.export("plot", output, figure=figure)
    if as_json:
        print_json({"figure": figure, "output": output, "notes": notes})
        return
    for note in notes:
        sys.stderr.write(f"note: {note}\n")
