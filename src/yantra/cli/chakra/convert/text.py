"""`yantra chakra convert text`: a text workload of ASTRA-sim 1.0 to traces, or to a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from yantra.base.errors import ConfigError
from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.loop_options import loop_options, passes_option

if TYPE_CHECKING:
    from yantra.workloads.importers.layer_text.loops import TimeUnit, Updates


@click.command(
    cls=WithExamples,
    seldom=(
        "passes",
        "groups",
        "time_unit",
        "updates",
        "blocking_gradients",
        "compat",
    ),
    examples=[
        "yantra chakra convert text vgg16.txt --dims 4x4 -o vgg16",
        "yantra chakra convert text vgg16.txt --dims 4x4 -o vgg16.yw",
        "yantra chakra convert text vgg16.txt --ranks 8 --time-unit ns -o vgg16 --json",
    ],
)
@click.argument("workload", type=click.Path())
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    help="Prefix of the traces, or a workload file (.yw).",
)
@click.option("--ranks", type=int, help="Number of ranks; the product of --dims if left out.")
@passes_option
@click.option("--dims", help="Sizes of the network's dimensions, innermost first: 8x8x4.")
@click.option("--groups", is_flag=True, help="Write communicator groups for whole dimensions, too.")
@loop_options
@click.option(
    "--compat",
    type=click.Choice(["upstream"]),
    help="Write what upstream's converter writes, byte for byte.",
)
@json_option
def command(
    workload: str,
    output: str,
    ranks: int | None,
    passes: int,
    dims: str | None,
    groups: bool,
    time_unit: TimeUnit,
    updates: Updates,
    blocking_gradients: bool,
    compat: str | None,
    as_json: bool,
) -> int:
    """Make Chakra traces OUTPUT.RANK.et, or a workload file, from the text workload WORKLOAD."""
    from yantra.base.text import count
    from yantra.cli import warn
    from yantra.workloads.importers.layer_text import convert, convert_upstream, parse_dims

    if output.endswith(".yw"):
        if compat or groups:
            raise ConfigError("--output", "a workload file goes without --compat and --groups")
        how = (passes, time_unit, updates, blocking_gradients)
        _save_workload(workload, output, ranks, dims, how, as_json)
        return 0
    if compat:
        if ranks is None:
            raise ConfigError("--ranks", "is required with --compat upstream")
        if dims or groups or time_unit != "us" or updates != "delay" or blocking_gradients:
            problem = "upstream knows no dimensions, groups, other units, update times or waits"
            raise ConfigError("--compat upstream", f"{problem}; leave the option out")
        traces = convert_upstream(workload, output, ranks, passes)
        if as_json:
            print_json({"output": output, "traces": len(traces)})
        else:
            click.echo(f"wrote {count(len(traces), 'trace')}: {output}.RANK.et")
        return 0
    done = convert(
        workload,
        output,
        ranks,
        passes=passes,
        dims=parse_dims(dims) if dims else None,
        as_groups=groups,
        time_unit=time_unit,
        updates=updates,
        blocking_gradients=blocking_gradients,
    )
    warn(done.notes)
    if as_json:
        counts = {"traces": len(done.traces), "nodes": done.nodes}
        print_json({"output": output, **counts, "groups": done.groups})
        return 0
    made = f"{count(len(done.traces), 'trace')} of {count(done.nodes, 'node')}"
    click.echo(f"wrote {made}: {output}.RANK.et")
    if done.groups:
        click.echo(f"wrote the communicator groups they name: {done.groups}")
    return 0


def _save_workload(
    workload: str,
    output: str,
    ranks: int | None,
    dims: str | None,
    how: tuple[int, TimeUnit, Updates, bool],
    as_json: bool,
) -> None:
    from yantra.cli.typed import as_typed
    from yantra.cli.workload.convert import ranks_and_dims, save
    from yantra.workloads.importers.text import Settings, from_text

    with as_typed({"ranks": "--ranks", "dims": "--dims"}):
        every, sizes = ranks_and_dims(ranks, dims)
        save(from_text(workload, every, sizes, Settings(*how)), output, as_json)
