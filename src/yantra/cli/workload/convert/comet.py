"""`yantra workload convert comet`: a text workload of COMET as a template."""

from __future__ import annotations

import click

from yantra.base.errors import ConfigError
from yantra.cli.command import WithExamples, json_option
from yantra.cli.loop_options import passes_option
from yantra.cli.typed import as_typed


@click.command(
    cls=WithExamples,
    seldom=(
        "peak",
        "memory_bandwidth",
    ),
    examples=[
        "yantra workload convert comet transformer.txt --dims 4x4 \\\n"
        '    --peak "125 TFLOP/s" -o transformer.yw',
        "yantra workload convert comet transformer.txt --ranks 16 -o t.yw --json",
    ],
)
@click.argument("workload", type=click.Path())
@click.option("-o", "--output", type=click.Path(), required=True, help="The workload file (.yw).")
@click.option("--ranks", type=int, help="Number of ranks; the product of --dims if left out.")
@click.option("--dims", help="Sizes of the network's dimensions, innermost first: 16x64.")
@passes_option
@click.option("--peak", help="Peak rate of a device; times are as recorded if left out.")
@click.option(
    "--memory-bandwidth",
    help="Memory bandwidth of a device, for files that say what a layer moves.",
)
@json_option
def command(
    workload: str,
    output: str,
    ranks: int | None,
    dims: str | None,
    passes: int,
    peak: str | None,
    memory_bandwidth: str | None,
    as_json: bool,
) -> int:
    """Make a workload file of WORKLOAD, a text workload of COMET in either of its forms."""
    from yantra.base import units
    from yantra.cli.workload.convert import ranks_and_dims, save
    from yantra.workloads.importers.comet import Roofline, read
    from yantra.workloads.importers.text import Settings, from_layers

    with as_typed({"ranks": "--ranks", "dims": "--dims"}):
        every, sizes = ranks_and_dims(ranks, dims)
        roofline = None
        if peak is not None:
            rate = units.parse(peak, "flops", "FLOP/s", "--peak")
            moved = None
            if memory_bandwidth is not None:
                moved = units.parse(memory_bandwidth, "bandwidth", "B/s", "--memory-bandwidth")
            for name, value in (("--peak", rate), ("--memory-bandwidth", moved)):
                if value is not None and not value > 0:
                    raise ConfigError(name, "must be above 0")
            roofline = Roofline(rate, moved)
        elif memory_bandwidth is not None:
            raise ConfigError("--memory-bandwidth", "needs --peak; without, times are as recorded")
        layers = read(workload, roofline)
        settings = Settings(passes, "ns")
        save(from_layers(layers, every, sizes, settings, "COMET"), output, as_json)
    return 0
