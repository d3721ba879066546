"""`yantra collective bound`: the time that no schedule of a collective beats on a fabric."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import fabrics
from yantra.cli.plugin_option import option as plugin_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra collective bound torus",
        "yantra collective bound leaf_spine --set spines=4 --set oversubscription=2",
        "yantra collective bound pod.csv --size '1 GiB' --json",
    ],
    epilog="Bounds are of bandwidth: latency is 0. An all-reduce is one of ranks, without switches "
    "that reduce or multicast. A broadcast is from rank 0.",
)
@click.argument("fabric", metavar="KIND|FILE", shell_complete=fabrics)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set an option of the kind."
)
@click.option(
    "--size",
    default="1 GiB",
    show_default=True,
    help="The bytes of a rank: its input, or of an all-gather what it has at last.",
)
@plugin_option
@json_option()
def command(fabric: str, settings: tuple[str, ...], size: str, as_json: bool) -> None:
    """Show how fast collectives can be at best on the fabric KIND, or on the graph in FILE."""
    from yantra.base.text import table
    from yantra.base.units import format_bandwidth, format_time, parse
    from yantra.fabric.graphs.cut_bounds import cut_bounds
    from yantra.fabric.graphs.describe import shown
    from yantra.scenario.settings import parsed

    size_bytes = int(parse(size, "size", "B", "--size"))
    if size_bytes < 1:
        raise click.UsageError(f"--size must be at least 1 B, got {size}")
    graph = shown(fabric, parsed(settings)).graph
    found = cut_bounds(graph, fabric, size_bytes)
    if as_json:
        rows = [row._asdict() for row in found]
        print_json(
            {"fabric": fabric, "ranks": graph.ranks, "size_bytes": size_bytes, "bounds": rows}
        )
        return
    head = ("collective", "least time", "bus bandwidth at most", "because of")
    cells = [
        (
            row.kind,
            format_time(row.time_ns),
            format_bandwidth(row.bus_bytes_per_ns * 1e9),
            row.because_of,
        )
        for row in found
    ]
    sys.stdout.write("\n".join(table(head, cells, left=len(head))) + "\n")
