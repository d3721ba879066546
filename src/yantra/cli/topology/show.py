"""`yantra topology show`: figures of a fabric by name, in a file or in ASTRA-sim's notation."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.fabric_options import optional_fabric, set_option
from yantra.cli.plugin_option import option as plugin_option

if TYPE_CHECKING:
    from yantra.fabric.graphs.graph import Graph


@click.command(
    cls=WithExamples,
    seldom=(
        "load",
        "over_time",
    ),
    examples=[
        "yantra topology show",
        "yantra topology show fat_tree --set k=8",
        "yantra topology show leaf_spine --set spines=4 --set oversubscription=2",
        "yantra topology show dragonfly --svg dragonfly.svg",
        "yantra topology show pod.csv --svg loads.svg --load links.csv",
        "yantra topology show pod.csv --svg film.svg --load links.csv --over-time",
        "yantra topology show fat_tree --price core=30000 --price 'rank up=400'",
        "yantra topology show 'R(4)_FC(8)_SW(32)' --json",
        "yantra topology show torus --bounds '1 GiB'",
        "yantra topology show leaf_spine --infragraph pod.infragraph.yaml",
    ],
    epilog="Without --set the fabric is the example of its kind. With --set, options that are not "
    "set and have no default are those of the example, and are named. Bounds are of bandwidth: "
    "latency is 0. In an all-reduce only ranks add, and no switch reduces or multicasts. A "
    "broadcast starts at rank 0.",
)
@optional_fabric
@set_option
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="NAME=USD",
    help="What each device of a name, or each directed link of a label, costs in US dollars.",
)
@click.option("--svg", "svg", type=click.Path(), metavar="FILE", help="Draw it into a file.")
@click.option(
    "--load",
    type=click.Path(),
    metavar="FILE",
    help="With --svg: the colours are loads, from a table link_rates (yantra run --table, yantra "
    "network flows --links).",
)
@click.option(
    "--over-time",
    is_flag=True,
    help="With --load: colours change over the time of the table, in a loop.",
)
@click.option(
    "--bounds",
    metavar="SIZE",
    help="Also the least time of each collective of SIZE, whatever its schedule, and which cut "
    "says so. SIZE is what a rank has: its input, or for an all-gather its output.",
)
@click.option(
    "--infragraph",
    type=click.Path(),
    metavar="FILE",
    help="Write it for the package infragraph, as .infragraph.yaml or .json.",
)
@plugin_option
@json_option
def command(
    fabric: str | None,
    settings: tuple[str, ...],
    prices: tuple[str, ...],
    svg: str | None,
    load: str | None,
    over_time: bool,
    bounds: str | None,
    infragraph: str | None,
    as_json: bool,
) -> None:
    """Show what the fabric KIND, or the graph in FILE, consists of, and what it can carry.

    Without it, lists the kinds of fabrics, and the options that each needs and takes.
    """
    from yantra.base.output import write_text
    from yantra.fabric.graphs import link_loads
    from yantra.fabric.graphs.describe import prices_of, report, shown
    from yantra.fabric.graphs.drawing import FRAMES, drawing
    from yantra.fabric.graphs.figures import as_dict, figures
    from yantra.scenario.settings import parsed

    if load is not None and svg is None:
        raise click.UsageError("--load goes with --svg, which it gives its colours")
    if over_time and load is None:
        raise click.UsageError("--over-time goes with --load, whose table says when")
    if fabric is None:
        if settings or prices or bounds or infragraph or svg is not None:
            raise click.UsageError("expected a KIND or FILE beside these options")
        _list(as_json)
        return
    of = shown(fabric, parsed(settings))
    drawn = ""
    if svg is not None:
        loads = None if load is None else link_loads.read(load, of.graph, FRAMES * over_time)
        drawn = drawing(of.graph, fabric, loads)
    found = figures(of.graph, of.builder, prices_of(prices))
    if svg is not None:
        write_text(svg, drawn)
    if infragraph is not None:
        _write_infragraph(infragraph, of.graph, fabric)
    least = None if bounds is None else _least(of.graph, fabric, bounds)
    if as_json:
        more = {} if least is None else {"bounds": least}
        print_json({"fabric": fabric, "options": of.options, **as_dict(found), **more})
    else:
        sys.stdout.write(report(of, found) + ("" if least is None else _as_table(least)))


def _least(graph: Graph, fabric: str, bounds: str) -> list[dict[str, Any]]:
    from yantra.cli.fabric_options import size_of
    from yantra.fabric.graphs.cut_bounds import cut_bounds

    return [row._asdict() for row in cut_bounds(graph, fabric, size_of(bounds, "--bounds"))]


def _as_table(least: list[dict[str, Any]]) -> str:
    from yantra.base.text import table
    from yantra.base.units import format_bandwidth, format_time

    head = ("collective", "least time", "bus bandwidth at most", "because of")
    cells = [
        (
            row["kind"],
            format_time(row["time_ns"]),
            format_bandwidth(row["bus_bytes_per_ns"] * 1e9),
            row["because_of"],
        )
        for row in least
    ]
    return "\n".join(["", *table(head, cells, left=len(head))]) + "\n"


def _write_infragraph(output: str, graph: Graph, fabric: str) -> None:
    from json import dumps

    from yantra.base.errors import ConfigError, expected_got
    from yantra.base.output import write_text
    from yantra.fabric.infragraph import ENDINGS
    from yantra.fabric.infragraph.writing import document
    from yantra.scenario.text import tree_text

    if not output.endswith(ENDINGS):
        ends = f"a file that ends in one of {', '.join(ENDINGS)}"
        raise ConfigError("--infragraph", expected_got(ends, output))
    tree = document(graph, fabric)
    write_text(
        output, dumps(tree, indent=1) + "\n" if output.endswith(".json") else tree_text(tree)
    )


def _list(as_json: bool) -> None:
    from yantra.base.text import table
    from yantra.fabric.graphs.describe import HEAD, overview

    rows = overview()
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    cells = [(row.name, ", ".join(row.needs), ", ".join(row.takes)) for row in rows]
    sys.stdout.write("\n".join(table(HEAD, cells, left=len(HEAD))) + "\n")
