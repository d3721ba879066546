"""`yantra network flows`: simulates a list of flows over a fabric."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import fabrics
from yantra.cli.plugin_option import option as plugin_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra network flows flows.csv --topology leaf_spine --set leaves=4 \\\n"
        "    --set ranks_per_leaf=16 --set spines=8 --set bandwidth=100Gb/s \\\n"
        "    --set latency=1us -o fct.csv",
        "yantra network flows flows.csv --topology pod.csv --routing shortest --json",
        "yantra network flows flows.csv --topology pod.csv --changes failures.csv",
    ],
    epilog="The list has the columns src, dst, bytes and start_ns. What is printed and written is "
    "in the reference, docs/reference/traffic.md.",
)
@click.argument("flows", metavar="FLOWS", type=click.Path())
@click.option(
    "--topology",
    required=True,
    metavar="KIND|FILE",
    shell_complete=fabrics,
    help="The fabric: a kind, a file with a graph, or a product of dimensions.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set an option of the fabric."
)
@click.option(
    "--network",
    type=click.Choice(["flow"]),
    default="flow",
    show_default=True,
    help="How flows share links: max-min fairly.",
)
@click.option("--routing", default="ecmp", show_default=True, help="Which way flows go.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="Of the hash that chooses ways.",
)
@click.option("--rtt-fairness", is_flag=True, help="Share by 1 / round trip, not equally.")
@click.option(
    "--changes",
    type=click.Path(),
    help="A CSV of at_ns,from,to,bandwidth: links that change their rate, or fail with 0.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="A row for each flow: a file .csv, .csv.gz or .parquet.",
)
@plugin_option
@json_option("Print the summary as JSON.")
def command(
    flows: str,
    topology: str,
    settings: tuple[str, ...],
    network: str,
    routing: str,
    seed: int,
    rtt_fairness: bool,
    changes: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Simulate the flows of a list, and print how much slower they are than alone."""
    from yantra.base.errors import ConfigError
    from yantra.base.text import table
    from yantra.base.units import format_time
    from yantra.fabric.graphs import link_changes
    from yantra.fabric.graphs.describe import shown
    from yantra.network import routings
    from yantra.run.flows import PERCENTILES, Choice, read, simulate
    from yantra.scenario.settings import parsed

    if output is not None and not output.endswith((".csv", ".csv.gz", ".parquet")):
        raise ConfigError("--output", f"expected .csv, .csv.gz or .parquet, got {output}")
    if routings.find(routing, "--routing").by_packet:
        raise ConfigError("--routing", f"{routing} parts a flow, which lists of flows do not")
    graph = shown(topology, parsed(settings)).graph
    change_list = None if changes is None else link_changes.read(changes, graph)
    result = simulate(graph, read(flows), Choice(routing, seed, rtt_fairness), change_list)
    if output is not None:
        kept = result.table()
        (kept.to_parquet if output.endswith(".parquet") else kept.to_csv)(output)
    rows = list(result.by_size())
    makespan = float(result.end_ns.max()) if len(result.end_ns) else 0.0
    if as_json:
        names = [f"p{percentile}" for percentile in PERCENTILES]
        slowdowns = [
            {"from_bytes": None if power is None else 10**power, "flows": count}
            | dict(zip(names, values, strict=True))
            for power, count, values in rows
        ]
        form = {"flows": len(result.end_ns), "network": network, "end_ns": makespan}
        print_json(form | {"slowdown": slowdowns})
        return
    cells = [
        ("all" if power is None else f"10^{power} B", f"{count}", *(f"{v:.3f}" for v in values))
        for power, count, values in rows
    ]
    head = ("size from", "flows", *(f"p{percentile}" for percentile in PERCENTILES))
    sys.stdout.write(f"{len(result.end_ns)} flows, the last through at {format_time(makespan)}\n")
    sys.stdout.write("slowdown against alone\n")
    sys.stdout.write("\n".join(table(head, cells)) + "\n")
