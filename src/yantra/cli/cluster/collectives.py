"""`yantra cluster collectives`: how long collectives take on a cluster, as measured."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import clusters as cluster_names
from yantra.cli.fabric_options import collective_option, sizes_of, sizes_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra cluster collectives hgx-h100 --ranks 8",
        "yantra cluster collectives gb200-nvl72 --ranks 72 --collective all_gather",
        "yantra cluster collectives hgx-h100 --ranks 16 --sizes '1 MiB' --json",
    ],
)
@click.argument("name", shell_complete=cluster_names)
@click.option("--ranks", type=int, required=True, help="How many ranks run it.")
@collective_option
@sizes_option("1 KiB, 16 KiB, 256 KiB, 4 MiB, 64 MiB, 1 GiB")
@json_option
def command(name: str, ranks: int, collective: str, sizes: str, as_json: bool) -> None:
    """Say how long a collective takes on the cluster NAME, as measured.

    With its 90 % interval, algbw and busbw as nccl-tests count them, and which algorithm and
    protocol runs.
    """
    from yantra.base import units
    from yantra.base.text import table
    from yantra.fabric import clusters
    from yantra.fabric.clusters.collectives import expected

    basis, rows = expected(clusters.load(name), collective, ranks, sizes_of(sizes))
    if as_json:
        print_json({"rests_on": basis, "rows": [row._asdict() for row in rows]})
        return
    head = ("size", "time", "90 %", "algbw", "busbw", "runs")
    lines = [
        (
            units.format_size(row.size_bytes),
            units.format_time(row.time_ns),
            f"{units.format_time(row.low_ns)} to {units.format_time(row.high_ns)}",
            units.format_bandwidth(row.algorithm_bytes_per_s),
            units.format_bandwidth(row.bus_bytes_per_s),
            row.runs,
        )
        for row in rows
    ]
    sys.stdout.write("\n".join(table(head, lines, left=1)) + f"\nrests on {basis}\n")
