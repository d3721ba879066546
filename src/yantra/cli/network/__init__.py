"""`yantra network`: networks side by side, and flows without a job; one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Tools(Commands):
    package = "yantra.cli.network"
    known: ClassVar = {
        "compare": "Run a scenario on every network: time, difference, cost of simulating.",
        "flows": "Simulate a list of flows over a fabric: completion times and slowdown.",
        "generate": "Make a list of flows: Poisson, incast, permutation, all-to-all.",
        "noc": "Measure a network on chip, flit by flit: latency against load, saturation.",
    }


@click.command(
    cls=_Tools,
    examples=[
        "yantra network compare step.yaml",
        "yantra network generate permutation --hosts 64 --set size=1MB -o flows.csv",
        "yantra network flows flows.csv --topology leaf_spine --set leaves=4 \\\n"
        "    --set ranks_per_leaf=16 --set spines=8",
        "yantra network noc --topology mesh --sizes 8x8 --traffic transpose --curve",
    ],
)
def command() -> None:
    """Run a job on every network, or study one with flows, without a job."""
