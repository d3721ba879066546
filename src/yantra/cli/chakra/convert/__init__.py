"""`yantra chakra convert`: one file per source."""

from __future__ import annotations

from typing import ClassVar

import click

from yantra.cli.group import Commands


class _Sources(Commands):
    package = "yantra.cli.chakra.convert"
    known: ClassVar = {
        "pytorch": "Linked PyTorch traces, or host traces alone.",
        "text": "Text workloads of ASTRA-sim 1.0.",
        "msccl": "MSCCL programs (XML) and plans of MSCCL++ (JSON).",
    }


@click.command(
    cls=_Sources,
    examples=[
        "yantra chakra convert pytorch linked.0.json linked.1.json -o job",
        "yantra chakra convert text vgg16.txt --dims 4x4 -o vgg16",
    ],
)
def command() -> None:
    """Make Chakra traces from something else."""
