"""`yantra collective bound`: the time that no schedule of a collective beats on a fabric."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.fabric_options import (
    fabric_argument,
    set_option,
    size_of,
    size_option,
)
from yantra.cli.plugin_option import option as plugin_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra collective bound torus",
        "yantra collective bound leaf_spine --set spines=4 --set oversubscription=2",
        "yantra collective bound pod.csv --size '1 GiB' --json",
    ],
    epilog="Bounds are of bandwidth: latency is 0. In an all-reduce only ranks add, and no switch "
    "reduces or multicasts. A broadcast starts at rank 0.",
)
@fabric_argument
@set_option
@size_option
@plugin_option
@json_option
def command(fabric: str, settings: tuple[str, ...], size: str, as_json: bool) -> None:
    """Show how fast collectives can be at best on the fabric KIND, or on the graph in FILE."""
    from yantra.base.text import table
    from yantra.base.units import format_bandwidth, format_time
    from yantra.fabric.graphs.cut_bounds import cut_bounds
    from yantra.fabric.graphs.describe import shown
    from yantra.scenario.settings import parsed

    size_bytes = size_of(size)
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
