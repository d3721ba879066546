"""`yantra chakra generate`: small synthetic traces, one per rank and case."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    seldom=(
        "num_npus",
        "runtime",
        "tensor_size",
        "comm_size",
        "compat",
    ),
    examples=[
        "yantra chakra generate --num-npus 4 -o synthetic",
        "yantra chakra generate --list",
        "yantra chakra generate --num-npus 2 --case one_comp_node -o one --json",
    ],
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path(),
    help="The folder to write to; made if it is missing. [default: the current one]",
)
@click.option("--num-npus", type=int, default=64, show_default=True, help="Number of ranks.")
@click.option(
    "--runtime", type=int, default=5, show_default=True, help="Microseconds of a compute node."
)
@click.option(
    "--tensor-size", type=int, default=1024, show_default=True, help="Bytes of a memory node."
)
@click.option(
    "--comm-size", type=int, default=65536, show_default=True, help="Bytes of a communication."
)
@click.option("--case", "cases", multiple=True, help="Write only this case; may be repeated.")
@click.option("--list", "lists", is_flag=True, help="Print the names of the cases, write nothing.")
@click.option(
    "--compat",
    type=click.Choice(["upstream"]),
    help="Write byte for byte what upstream's generator writes.",
)
@json_option
def command(
    output: Path,
    num_npus: int,
    runtime: int,
    tensor_size: int,
    comm_size: int,
    cases: tuple[str, ...],
    lists: bool,
    compat: Literal["upstream"] | None,
    as_json: bool,
) -> int:
    """Write traces named CASE.RANK.et: one node of every type, a pair, every collective.

    Unlike upstream's, every trace numbers its nodes from 0, and sends and receives have a peer, a
    size and a tag, so that every case runs.
    """
    from yantra.chakra.generator import Sizes, generate

    sizes = Sizes(runtime, tensor_size, comm_size)
    names = []
    for case in generate(num_npus, sizes, only=cases, compat=compat):
        names.append(case.name)
        if not lists:
            case.write(output)
        elif not as_json:
            sys.stdout.write(case.name + "\n")
    if as_json:
        print_json({"output": None if lists else str(output), "ranks": num_npus, "cases": names})
    return 0
