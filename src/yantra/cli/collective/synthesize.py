"""`yantra collective synthesize`: a collective made for a fabric, proven, beside its cut bound."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.fabric_options import (
    fabric_argument,
    set_option,
    size_of,
    size_option,
)
from yantra.cli.plugin_option import option as plugin_option

if TYPE_CHECKING:
    from yantra.fabric.graphs.synthesis import Found, Synthesis

_HEAD = ("method", "chunks of a rank", "messages", "time", "of the bound")


@click.command(
    cls=WithExamples,
    seldom=(
        "tries",
        "seed",
        "chunks",
        "msccl",
        "traces",
    ),
    examples=[
        "yantra collective synthesize dgx1",
        "yantra collective synthesize dgx1 --collective all_gather --tries 5 --json",
        "yantra collective synthesize pod.csv --msccl ar.xml --traces out/ar",
    ],
    epilog="Times are of links alone: latency and bytes over the rate, no hand-overs. The bound "
    "has no latency. Run the traces on a network to see what a collective takes there.",
)
@fabric_argument
@set_option
@click.option(
    "--collective",
    type=click.Choice(["all_reduce", "all_gather", "reduce_scatter"]),
    default="all_reduce",
    show_default=True,
    help="What to make.",
)
@size_option
@click.option(
    "--method",
    type=click.Choice(["best", "tacos", "trees"]),
    default="best",
    show_default=True,
    help="TACOS, trees packed to the bound, or both; trees by themselves up to 128 ranks.",
)
@click.option(
    "--chunks",
    type=click.IntRange(min=1),
    help="Chunks of a rank for TACOS, pieces of each tree for trees; by default several.",
)
@click.option(
    "--tries",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How often TACOS tries; the plan that ends first is kept.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**62),
    default=1,
    show_default=True,
    help="Seed of its random choices.",
)
@click.option("--msccl", metavar="FILE", type=click.Path(), help="Write an MSCCL program.")
@click.option(
    "--traces",
    metavar="PREFIX",
    type=click.Path(),
    help="Write Chakra traces, PREFIX.0.et and so on.",
)
@plugin_option
@json_option
def command(
    fabric: str,
    settings: tuple[str, ...],
    collective: str,
    size: str,
    method: str,
    chunks: int | None,
    tries: int,
    seed: int,
    msccl: str | None,
    traces: str | None,
    as_json: bool,
) -> None:
    """Make a collective for the fabric KIND, or the graph in FILE, and prove it.

    The traces run in a scenario as `all_reduce: {custom: "PREFIX.{position}.et"}`.
    """
    from yantra.cli.progress import progress
    from yantra.collectives.schedule import Kind
    from yantra.fabric.graphs.describe import shown
    from yantra.fabric.graphs.synthesis import Asked, synthesize
    from yantra.scenario.settings import parsed

    size_bytes = size_of(size)
    asked = Asked(Kind(collective), size_bytes, method, chunks, tries, seed)
    graph = shown(fabric, parsed(settings)).graph
    with progress("tries", counted=True) as report:
        found = synthesize(graph, fabric, asked, report)
    lines, wrote = _written(found.found[0], f"{collective} on {fabric}", msccl, traces)
    if as_json:
        form = {"fabric": fabric, "ranks": graph.ranks, "collective": collective}
        print_json(form | {"size_bytes": size_bytes} | _form(found, lines, wrote))
        return
    from yantra.base.text import count

    sys.stdout.write(f"{collective} of {size} on {fabric}, {count(graph.ranks, 'rank')}\n")
    _print(found, lines, wrote)


def _written(
    best: Found, name: str, msccl: str | None, traces: str | None
) -> tuple[tuple[str, ...], list[str]]:
    from yantra.base.output import make_folder, write_text
    from yantra.collectives.synthesis.steps import proven

    steps, lines = proven(best.plan)
    wrote: list[str] = []
    if msccl is None and traces is None:
        return lines, wrote
    from yantra.collectives.msccl import parse_program, prove
    from yantra.collectives.msccl import traces as traces_of
    from yantra.collectives.msccl.traces import write
    from yantra.collectives.synthesis.msccl_text import program_text

    text = program_text(best.plan, name, steps)
    if traces is not None:
        make_folder(os.path.dirname(traces) or ".")  # before anything is written
    if msccl is not None:
        write_text(msccl, text)
        wrote.append(msccl)
    if traces is not None:
        proof = prove(parse_program(text.encode(), msccl or name))
        wrote += write(traces_of(proof), traces)
    return lines, wrote


def _form(found: Synthesis, lines: tuple[str, ...], wrote: list[str]) -> dict[str, Any]:
    rows = [
        {
            "method": row.plan.method,
            "chunks_of_a_rank": row.chunks,
            "messages": row.plan.columns.messages,
            "time_ns": row.plan.time_ns,
            "of_bound": row.of_bound,
        }
        for row in found.found
    ]
    return {"bound_ns": found.bound_ns, "plans": rows, "proof": list(lines), "wrote": wrote}


def _print(found: Synthesis, lines: tuple[str, ...], wrote: list[str]) -> None:
    from yantra.base.text import table
    from yantra.base.units import format_time

    cells = [
        (
            row.plan.method,
            f"{row.chunks}",
            f"{row.plan.columns.messages}",
            format_time(row.plan.time_ns),
            f"{100 * row.of_bound:.1f} %",
        )
        for row in found.found
    ]
    sys.stdout.write("\n".join(table(_HEAD, cells)) + "\n")
    sys.stdout.write(f"cut bound: {format_time(found.bound_ns)}\n")
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    if wrote:
        last = f" to {wrote[-1]}" if len(wrote) > 1 else ""
        sys.stdout.write(f"wrote: {wrote[0]}{last}\n")
