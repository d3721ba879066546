"""`yantra plot`: a figure for a paper or a slide, as SVG, PDF or PNG."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.file_options import case_of, cluster_option, set_option, stack_option
from yantra.cli.plugin_option import option as plugin_option

if TYPE_CHECKING:
    from yantra.scenario import Case

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
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    help="The file to write: .svg, .pdf or .png.",
)
@cluster_option
@set_option
@stack_option
@plugin_option
@json_option
def command(
    figure: str,
    file: str,
    output: str,
    cluster: str | None,
    settings: tuple[str, ...],
    stack: str | None,
    as_json: bool,
) -> None:
    """Draw how busy links are, the bandwidth of collectives by size, or when ranks do what.

    FILE is what yantra run takes. A result is drawn as it is, with --set run again. Needs
    matplotlib: pip install matplotlib.
    """
    from yantra.result.forms import exporter

    drawn = exporter("plot")
    notes = drawn.write(_result(case_of(file, cluster, settings, stack)), output, figure=figure)
    if as_json:
        print_json({"figure": figure, "output": output, "notes": notes})
        return
    for note in notes:
        sys.stderr.write(f"note: {note}\n")


def _result(case: Case) -> Any:
    from yantra.run.simulate import simulate
    from yantra.scenario.recognise import recognise
    from yantra.scenario.text import of_known, placing

    known = recognise(case.path)
    if known.kind == "result" and not case.cluster and not case.settings:
        from yantra.export.stored import StoredResult, result_of

        return StoredResult(result_of(known.text, known.name), known.name)
    with placing(os.fspath(case.path)):
        return simulate(of_known(known, case.cluster, case.settings))
