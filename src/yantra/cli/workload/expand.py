"""`yantra workload expand`: writes the plain Chakra traces of a workload, one per rank."""

from __future__ import annotations

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    seldom=(
        "prefix",
        "ordering",
    ),
    examples=[
        "yantra workload expand step.yw -o traces",
        "yantra workload expand step.yw -o traces --for astra-sim",
        "yantra workload expand step.yw --ranks 0,3-5 --prefix rank -o traces --json",
    ],
)
@click.argument("workload", type=click.Path())
@click.option("-o", "--output", required=True, type=click.Path(), help="The folder for the files.")
@click.option("--ranks", help="Only these ranks, such as 0,7-15.")
@click.option(
    "--for",
    "reader",
    type=click.Choice(["yantra", "astra-sim"]),
    default="yantra",
    show_default=True,
    help="Who reads them: yantra run, as it runs WORKLOAD; or ASTRA-sim, whose ranks have one slot "
    "for communication.",
)
@click.option(
    "--ordering",
    type=click.Choice(["serial", "streams"]),
    help="Let all collectives of a rank wait in one order (serial), or those of each group in its "
    "own (streams); by default as the workload says, which for astra-sim usually is serial.",
)
@click.option(
    "--prefix", default="workload", show_default=True, help="How the names of the traces begin."
)
@json_option
def command(
    workload: str,
    output: str,
    ranks: str | None,
    reader: str,
    ordering: str | None,
    prefix: str,
    as_json: bool,
) -> None:
    """Write the traces of WORKLOAD as PREFIX.<rank>.et, and its groups as comm_group.json."""
    from yantra.cli.progress import progress
    from yantra.workloads.templates import load
    from yantra.workloads.templates.expand import GROUPS, expand, parse_ranks

    opened = load(workload)
    wanted = None if ranks is None else parse_ranks(ranks, opened.ranks, "--ranks")
    with progress("writing") as report:
        expand(opened, output, wanted, ordering, prefix, report, reader)  # type: ignore[arg-type]
    if as_json:
        written = opened.ranks if wanted is None else len(set(wanted))
        print_json({"output": output, "prefix": prefix, "ranks": written, "groups": GROUPS})
