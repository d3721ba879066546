"""`yantra workload convert text`: a text workload of ASTRA-sim 1.0 as a template."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import click

from yantra.base.errors import ConfigError
from yantra.cli.command import WithExamples, json_option
from yantra.cli.loop_options import loop_options, passes_option
from yantra.cli.typed import as_typed

if TYPE_CHECKING:
    from yantra.workloads.importers.layer_text.loops import TimeUnit, Updates


@click.command(
    cls=WithExamples,
    seldom=(
        "passes",
        "time_unit",
        "updates",
        "blocking_gradients",
    ),
    examples=[
        "yantra workload convert text vgg16.txt --dims 4x4 --time-unit ns -o vgg16.yw",
        "yantra workload convert text vgg16.txt --ranks 16 -o vgg16.yw --json",
    ],
)
@click.argument("workload", type=click.Path())
@click.option("-o", "--output", type=click.Path(), required=True, help="The workload file (.yw).")
@click.option("--ranks", type=int, help="Number of ranks; the product of --dims if left out.")
@click.option("--dims", help="Sizes of the network's dimensions, innermost first: 8x8x4.")
@passes_option
@loop_options
@json_option
def command(
    workload: str,
    output: str,
    ranks: int | None,
    dims: str | None,
    passes: int,
    time_unit: TimeUnit,
    updates: Updates,
    blocking_gradients: bool,
    as_json: bool,
) -> int:
    """Make a workload file of WORKLOAD, a text workload of ASTRA-sim 1.0."""
    from yantra.cli.workload.convert import save
    from yantra.workloads.importers.text import Settings, from_text, parse_dims

    with as_typed({"ranks": "--ranks", "dims": "--dims"}):
        sizes = parse_dims(dims) if dims else None
        if sizes is None and ranks is None:
            raise ConfigError("ranks", "give the number of ranks, or the network's dims")
        every = prod(sizes or ()) if ranks is None else ranks
        if every < 1:
            raise ConfigError("ranks", f"expected at least 1, got {every}")
        settings = Settings(passes, time_unit, updates, blocking_gradients)
        save(from_text(workload, every, sizes, settings), output, as_json)
    return 0
