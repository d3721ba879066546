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

_OF_RESULTS = ("links", "bandwidth", "gantt")
_OF_FILES = ("fct", "queues", "front")
_FIGURES = (*_OF_RESULTS, *_OF_FILES)


@click.command(
    cls=WithExamples,
    examples=[
        "yantra plot links step.yaml -o links.svg",
        "yantra plot bandwidth step.yw --cluster hgx-h100 -o bandwidth.pdf",
        "yantra plot gantt result.json -o gantt.png",
        "yantra plot links step.yaml -o links.svg --json",
        "yantra plot fct hpcc.csv dcqcn.csv -o fct.pdf",
        "yantra plot queues queues.csv -o queues.svg",
        "yantra plot front finished-study -o front.svg",
    ],
)
@click.argument("figure", type=click.Choice(_FIGURES))
@click.argument("files", type=click.Path(), nargs=-1, required=True, metavar="FILE...")
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
    files: tuple[str, ...],
    output: str,
    cluster: str | None,
    settings: tuple[str, ...],
    stack: str | None,
    as_json: bool,
) -> None:
    """Draw how busy links are, the bandwidth of collectives by size, or when ranks do what.

    FILE is what yantra run takes. A result is drawn as it is, with --set run again. fct draws
    slowdowns by size and queues their distribution, of files that yantra network flows writes,
    side by side; front draws studies. Needs matplotlib: pip install matplotlib.
    """
    if figure in _OF_FILES:
        from yantra.export import plot_files

        if cluster or settings or stack:
            raise click.UsageError(f"{figure} draws files as they are; it takes -o alone")
        notes = plot_files.write(figure, files, output)
    else:
        from yantra.result.forms import exporter

        if len(files) > 1:
            raise click.UsageError(f"{figure} draws one file, got {len(files)}")
        run = _result(case_of(files[0], cluster, settings, stack))
        notes = exporter("plot").write(run, output, figure=figure)
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
