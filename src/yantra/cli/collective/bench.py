"""`yantra collective bench`: bus bandwidth by fabric, size and algorithm, beside the cut bound."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import clusters, fabrics, networks
from yantra.cli.fabric_options import collective_option, sizes_of, sizes_option, split
from yantra.cli.file_options import answered, stack_option
from yantra.cli.plugin_option import option as plugin_option
from yantra.cli.program_options import program_of, program_options

if TYPE_CHECKING:
    from yantra.run.collective_bench import Row

_ABOVE = 1 + 1e-9
_HEAD = ("fabric", "ranks", "size", "algorithm", "time", "algbw", "busbw", "of the bound")


@click.command(
    cls=WithExamples,
    seldom=(
        "command",
        "external",
        "routing",
        "chunks",
    ),
    examples=[
        "yantra collective bench torus --sizes '64 KiB, 64 MiB'",
        "yantra collective bench switch dgx1 --sizes 1MiB --json",
        "yantra collective bench pod.csv --algorithms ring,synthesized --sizes 1MiB",
        "yantra collective bench switch --network ./my_network.py --sizes 1MiB",
        "yantra collective bench --cluster hgx-h100 --ranks 64 --collective all_to_all",
        "yantra collective bench nvl72 --algorithms nvls --chunks 32 --sizes '1 GiB'",
    ],
    epilog="A collective runs alone on a network of links, without hand-overs at its ranks. "
    "algbw and busbw are those of nccl-tests; the bound has no latency, and is that of who adds: "
    "ranks only, or switches too, as for nvls and sharp.",
)
@click.argument("fabric", metavar="KIND|FILE...", nargs=-1, shell_complete=fabrics)
@click.option(
    "--cluster",
    metavar="NAME|FILE",
    shell_complete=clusters,
    help="In place of fabrics: a cluster, whose own algorithms, chunks and stack run the "
    "collective as in any job there; --set then sets keys of its scenario.",
)
@click.option(
    "--ranks",
    type=click.IntRange(min=2),
    help="With --cluster: the number of ranks; by default one domain of the cluster.",
)
@stack_option
@answered("--speeds")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set an option of the kind; needs a single fabric.",
)
@collective_option
@sizes_option("64 KiB, 1 MiB, 16 MiB, 256 MiB")
@click.option(
    "--algorithms",
    metavar="NAMES",
    help="Names, with commas between them; by default all that perform it, and 'synthesized'.",
)
@click.option(
    "--chunks",
    type=click.IntRange(min=1, max=1024),
    help="Pieces of a collective, up to four at a time, which overlap; by default 1, and on a "
    "cluster as many as help.",
)
@click.option(
    "--network",
    metavar="NAME|FILE",
    shell_complete=networks,
    help="The network that carries the messages; by default flow, and analytical on a cluster. One "
    "that runs over dimensions alone, such as one in a Python file, takes fabrics that are a "
    "product of them.",
)
@program_options
@click.option(
    "--routing",
    metavar="NAME",
    help="Routes of messages, as at cluster.routing; by default even_spray, and ecmp where a "
    "network does not divide messages.",
)
@plugin_option
@json_option
def command(
    fabric: tuple[str, ...],
    cluster: str | None,
    ranks: int | None,
    stack: str | None,
    settings: tuple[str, ...],
    collective: str,
    sizes: str,
    algorithms: str | None,
    chunks: int | None,
    network: str | None,
    program: str | None,
    external: tuple[str, ...],
    routing: str | None,
    as_json: bool,
) -> None:
    """Run a collective by each algorithm and size on the fabrics KIND, or the graphs in FILE."""
    if cluster is not None:
        if fabric or algorithms or routing or program or external:
            problem = "--cluster goes without fabrics, --algorithms, --routing and --command"
            raise click.UsageError(f"{problem}; --set network.options.command says a program")
        chosen = {"stack": stack, "network": network, "chunks": chunks}
        _on_cluster(cluster, ranks, chosen, settings, collective, sizes, as_json)
        return
    if not fabric:
        raise click.UsageError("expected a fabric, by kind or file, or --cluster")
    if ranks is not None or stack is not None:
        raise click.UsageError("--ranks and --stack go with --cluster")
    network, outside = network or "flow", (program, external)
    rows, routing = _over_fabrics(
        fabric, settings, collective, sizes, algorithms, chunks or 1, network, outside, routing
    )
    if as_json:
        print_json(
            {"collective": collective, "network": network, "routing": routing, "rows": _forms(rows)}
        )
    else:
        _print(rows)


def _over_fabrics(
    fabric: tuple[str, ...],
    settings: tuple[str, ...],
    collective: str,
    sizes: str,
    algorithms: str | None,
    chunks: int,
    network: str,
    outside: tuple[str | None, tuple[str, ...]],
    routing: str | None,
) -> tuple[list[Row], str]:
    from yantra.cli import warn
    from yantra.cli.progress import progress
    from yantra.collectives import find
    from yantra.collectives.schedule import Kind
    from yantra.fabric.graphs.describe import shown
    from yantra.network import find as find_network
    from yantra.network import routings
    from yantra.run.collective_bench import MADE, Question, bench, default_algorithms
    from yantra.scenario.settings import parsed

    if settings and len(fabric) > 1:
        raise click.UsageError("--set goes with one fabric")
    kind = Kind(collective)
    names = tuple(split(algorithms, "--algorithms")) if algorithms else default_algorithms(kind)
    for name in names:
        if name != MADE:
            find(name, "--algorithms")
    level = find_network(network, "--network")
    read = program_of(level, *outside)
    program = () if read is None else tuple((key, getattr(read, key)) for key in read.field_names)
    divides = level.flow_lists in ("shared", "stored")
    routing = routing or ("even_spray" if divides else "ecmp")
    routings.find(routing, "--routing")
    asked = Question(kind, sizes_of(sizes), names, network, routing, chunks, program)
    found = [shown(name, parsed(settings)) for name in fabric]
    with progress("runs", counted=True) as report:
        rows = list(bench(found, asked, report))
    above = sorted({row.algorithm for row in rows if (row.of_bound or 0) > _ABOVE})
    if above:
        why = f"on {network} messages may not share links, or its switches add"
        warn([f"above the bound of the fabric: {', '.join(above)}; {why}"])
    return rows, routing


def _on_cluster(
    cluster: str,
    ranks: int | None,
    chosen: dict[str, Any],
    settings: tuple[str, ...],
    collective: str,
    sizes: str,
    as_json: bool,
) -> None:
    from yantra.cli.file_options import read_settings
    from yantra.cli.progress import progress
    from yantra.cli.typed import as_typed
    from yantra.explain.bench_on_cluster import Asked, bench

    given = {key: value for key, value in chosen.items() if value is not None}
    asked = Asked(collective, sizes_of(sizes), ranks, given, read_settings(settings))
    typed = as_typed({"cluster": "--cluster", "cluster.ranks": "--ranks"})
    with typed, progress("runs", counted=True) as report:
        network, rows, rests_on = bench(cluster, asked, report)
    if as_json:
        said = {"collective": collective, "network": network, "rows": _forms(rows)}
        print_json({**said, **({"rests_on": rests_on} if rests_on else {})})
        return
    _print(rows)
    if rests_on:
        sys.stdout.write(f"rests on {rests_on}\n")


def _forms(rows: list[Row]) -> list[dict[str, object]]:
    return [
        {key: value for key, value in row._asdict().items() if value not in (None, "")}
        for row in rows
    ]


def _print(rows: list[Row]) -> None:
    from yantra.base.text import table
    from yantra.base.units import format_bandwidth, format_size, format_time

    has_interval = any(row.low_ns is not None for row in rows)
    cells = [
        (
            row.fabric,
            f"{row.ranks}",
            format_size(row.size_bytes),
            row.algorithm,
            format_time(row.time_ns),
            *((_between(row),) if has_interval else ()),
            format_bandwidth((row.algorithm_bytes_per_ns or 0) * 1e9),
            format_bandwidth(row.bus_bytes_per_ns * 1e9),
            "" if row.of_bound is None else f"{100 * row.of_bound:.1f} %",
        )
        for row in rows
        if row.time_ns is not None and row.bus_bytes_per_ns is not None
    ]
    at = _HEAD.index("time") + 1
    head = (*_HEAD[:at], *(("90 %",) if has_interval else ()), *_HEAD[at:])
    sys.stdout.write("\n".join(table(head, cells)) + "\n")
    refused = dict.fromkeys(
        f"{row.algorithm} does not run on {row.fabric}: {row.refused}\n"
        for row in rows
        if row.refused
    )
    sys.stdout.write("".join(refused))


def _between(row: Row) -> str:
    from yantra.base.units import format_time

    if row.low_ns is None or row.high_ns is None:
        return ""
    return f"{format_time(row.low_ns)} to {format_time(row.high_ns)}"
