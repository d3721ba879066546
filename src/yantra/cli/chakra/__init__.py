"""`yantra chakra`: the tools for execution traces, one file per command."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Tools(Commands):
    was: ClassVar = {"json": "rewrite", "upgrade": "rewrite"}
    package = "yantra.cli.chakra"
    seldom_called: ClassVar = frozenset(("feed", "generate"))
    known: ClassVar = {
        "link": "Join the host trace and the device trace of one rank.",
        "convert": "Make Chakra traces from PyTorch traces, text workloads or MSCCL programs.",
        "show": "Print the nodes of a trace.",
        "stats": "Show what a trace holds: nodes, bytes, FLOPs, time, critical path.",
        "validate": "Check the traces of one rank or of all ranks of a job.",
        "diff": "Show how two traces differ.",
        "draw": "Draw the graph of a trace.",
        "timeline": "Turn a trace or a simulator's log into a timeline for Perfetto.",
        "generate": "Write small synthetic traces.",
        "feed": "Print the order in which a simulator would issue the nodes.",
        "rewrite": "Write a trace of any layout in today's, or as JSON text, or back.",
        "obfuscate": "Hide what a trace reveals about its model, and report what still shows.",
        "replay": "Run the operators of a trace with PyTorch and compare the times.",
    }


@click.command(
    cls=_Tools,
    examples=[
        "yantra chakra show job.0.et",
        "yantra chakra stats 'job.{rank}.et'",
        "yantra chakra validate 'job.{rank}.et'",
        "yantra chakra link --host host.json --device device.json -o linked.json",
    ],
)
def command() -> None:
    """Link, convert and look at execution traces."""
