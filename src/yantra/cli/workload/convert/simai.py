"""`yantra workload convert simai`: a workload of SimAI as templates."""

from __future__ import annotations

import click

from yantra.cli.command import WithExamples, json_option
from yantra.cli.complete import schedules


@click.command(
    cls=WithExamples,
    examples=[
        "yantra workload convert simai gpt13b.txt -o gpt13b.yw",
        "yantra workload convert simai old.txt --ranks 64 -o old.yw --json",
    ],
)
@click.argument("workload", type=click.Path())
@click.option("-o", "--output", type=click.Path(), required=True, help="The workload file (.yw).")
@click.option("--ranks", type=int, help="Number of ranks, where the file does not say all_gpus.")
@click.option(
    "--schedule",
    metavar="NAME",
    shell_complete=schedules,
    help="Order of the micro-batches: simai (its own loop, without a pipeline; the default for one "
    "stage), 1f1b (the default for more), gpipe, zb-h1, ...",
)
@json_option
def command(
    workload: str, output: str, ranks: int | None, schedule: str | None, as_json: bool
) -> int:
    """Make a workload file of WORKLOAD, a workload of SimAI or AICB."""
    from yantra.cli.workload.convert import save
    from yantra.workloads.importers.simai import from_simai

    save(from_simai(workload, ranks, schedule), output, as_json)
    return 0
