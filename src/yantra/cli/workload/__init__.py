"""`yantra workload`: workloads as templates, one file per command."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import click

from yantra.cli.group import Commands

_FOLDER = Path(__file__).parent
_HELP = {
    "train": "Make a workload of training from a model and a plan.",
    "infer": "Make a workload of inference from a model.",
    "convert": "Make a workload from spreadsheets of STG, or text workloads.",
    "show": "Show what a workload holds, or what models weigh; without a name, list models.",
    "expand": "Write the plain Chakra traces of a workload, one per rank.",
}


class _Tools(Commands):
    was: ClassVar = {"models": "show"}
    package = "yantra.cli.workload"
    known: ClassVar = {
        name: line
        for name, line in _HELP.items()
        if (_FOLDER / f"{name}.py").exists() or (_FOLDER / name / "__init__.py").exists()
    }


@click.command(
    cls=_Tools,
    examples=[
        "yantra workload train --model llama3-8b --tp 4 --dp 2 -o step.yw",
        "yantra workload show step.yw",
        "yantra run --workload step.yw --cluster hgx-h100",
    ],
)
def command() -> None:
    """Make, show and expand workloads: what a job computes and communicates."""
