"""`yantra network generate`: makes a list of flows."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import traffic


@click.command(
    cls=WithExamples,
    seldom=(
        "load",
        "seed",
    ),
    examples=[
        "yantra network generate poisson --hosts 64 --load 0.5 \\\n"
        "    --set bandwidth=100Gb/s --set duration=1ms -o flows.csv",
        "yantra network generate poisson --hosts 64 --load 0.3 --set sizes=hadoop \\\n"
        "    --set bandwidth=100Gb/s --set duration=1ms --set incast_load=0.02 \\\n"
        "    --set incast_senders=16 -o flows.csv",
        "yantra network generate incast --hosts 17 --set size=500kB -o flows.csv",
        "yantra network generate permutation --hosts 64 --seed 7 \\\n"
        "    --set size=1MB -o flows.csv --json",
        "yantra network generate all_to_all --hosts 8 --set size=1MB -o flows.csv",
    ],
    epilog="The file has the columns src, dst, bytes and start_ns. What each KIND takes is in the "
    "reference, docs/reference/traffic.md.",
)
@click.argument("kind", shell_complete=traffic)
@click.option("--hosts", type=click.IntRange(min=2), required=True, help="How many hosts.")
@click.option("--load", help="The same as --set load=LOAD.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="Seed of the random draws.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set an option of the KIND."
)
@click.option(
    "-o", "--output", type=click.Path(), required=True, help="The CSV file; packed as .csv.gz."
)
@json_option
def command(
    kind: str,
    hosts: int,
    load: str | None,
    seed: int,
    settings: tuple[str, ...],
    output: str,
    as_json: bool,
) -> None:
    """Make a list of flows of a KIND: poisson, incast, permutation, all_to_all."""
    from yantra.base.text import count as counted
    from yantra.base.units import format_size
    from yantra.cli.interruption import heard
    from yantra.network.traffic import generate
    from yantra.network.traffic.writing import write
    from yantra.scenario.settings import parsed

    options = parsed((*settings, *([] if load is None else [f"load={load}"])))
    flows = heard(lambda: generate(kind, options, hosts, seed, kind))
    write(flows, output)
    count, total = len(flows.src), int(flows.bytes.sum())
    last = int(flows.start_ns.max()) if count else 0
    if as_json:
        form = {"output": output, "flows": count, "bytes": total, "last_start_ns": last}
        print_json(form)
    else:
        mean = format_size(total // count) if count else "0 B"
        sys.stdout.write(f"{output}: {counted(count, 'flow')} of {mean} on average\n")
