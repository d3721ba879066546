"""`yantra workload convert`: one file per source."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import click

from yantra.cli.command import print_json
from yantra.cli.group import Commands

if TYPE_CHECKING:
    from yantra.workloads.templates import Workload


class _Sources(Commands):
    moved: ClassVar = {"text": "yantra chakra convert text WORKLOAD -o OUTPUT.yw"}
    package = "yantra.cli.workload.convert"
    known: ClassVar = {
        "stg": "Spreadsheets of STG and STAGE.",
        "simai": "Workloads of SimAI, as AICB writes them.",
        "comet": "Text workloads of COMET, with columns for a roofline.",
    }


@click.command(
    cls=_Sources,
    examples=[
        "yantra workload convert simai gpt13b.txt -o gpt13b.yw",
        "yantra workload convert stg --model_type gpt --num_stacks 4 --batch 8 -o g.yw",
    ],
)
def command() -> None:
    """Make a workload file from something else."""


def save(workload: Workload, output: str, as_json: bool) -> None:
    from yantra.base.text import count
    from yantra.cli import warn

    warn(workload.sections.get("notes", []))
    workload.save(output)
    names = workload.templates
    nodes = sum(workload.totals[name]["nodes"] for name in names)
    if as_json:
        made = {"ranks": workload.ranks, "templates": len(names), "nodes": nodes}
        print_json({"output": output, **made})
        return
    what = f"{count(len(names), 'template')}, {count(nodes, 'node')}"
    click.echo(f"wrote {output}: {count(workload.ranks, 'rank')}, {what}")


def ranks_and_dims(ranks: int | None, dims: str | None) -> tuple[int, tuple[int, ...] | None]:
    """Return the ranks, by default the product of `dims`, and these."""
    from math import prod

    from yantra.base.errors import ConfigError
    from yantra.workloads.importers.text import parse_dims

    sizes = parse_dims(dims) if dims else None
    if sizes is None and ranks is None:
        raise ConfigError("ranks", "give the number of ranks, or the network's dims")
    every = prod(sizes or ()) if ranks is None else ranks
    if every < 1:
        raise ConfigError("ranks", f"expected at least 1, got {every}")
    return every, sizes
