"""`yantra cluster show`: every number of a cluster with its source, or all in a table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import clusters as cluster_names
from yantra.cli.file_options import answered, stack_option
from yantra.cli.plugin_option import option as plugin_option

if TYPE_CHECKING:
    from yantra.explore.study.network_cost import Item
    from yantra.fabric.clusters.types import Cluster


@click.command(
    cls=WithExamples,
    examples=[
        "yantra cluster show",
        "yantra cluster show hgx-h100",
        "yantra cluster show dgx-a100-80gb --ranks 64",
        "yantra cluster show mi300x --json",
    ],
)
@click.argument("name", required=False, shell_complete=cluster_names)
@click.option(
    "--ranks",
    type=int,
    help="Also show the scenario of this many ranks, and what their network costs.",
)
@click.option("--dtype", help="The data type whose peak rate the scenario uses.")
@stack_option
@answered("--speeds")
@plugin_option
@json_option
def command(
    name: str | None, ranks: int | None, dtype: str | None, stack: str | None, as_json: bool
) -> None:
    """Show every number of the cluster NAME, or of a file, with its source.

    Without NAME it lists the clusters: rates per device, of links one way.
    """
    from yantra.cli import warn
    from yantra.explore.study.network_cost import report as cost_report
    from yantra.fabric import clusters
    from yantra.fabric.clusters.describe import as_dict, report
    from yantra.fabric.clusters.laws import doubts
    from yantra.scenario.text import tree_text

    if name is None:
        _check_alone(ranks, dtype, stack)
        _list(as_json)
        return
    machine = clusters.load(name)
    warn([f"{name}: {doubt}" for doubt in doubts(machine)])
    parts: dict[str, Any] = {}
    cost: tuple[Item, ...] = ()
    if ranks is not None:
        parts = _scenario(name, ranks, dtype, stack)
        cost = _network_cost(machine, parts)
    elif dtype is not None:
        machine.peak_flops(dtype, where="--dtype")
    if as_json:
        form = as_dict(machine) | ({"scenario": parts} if parts else {})
        if cost:
            form["network_cost"] = [item._asdict() for item in cost]
        print_json(form)
        return
    sys.stdout.write(report(machine))
    if cost:
        sys.stdout.write(f"\n{cost_report(cost)}\n")
    if parts:
        sys.stdout.write(f"\n# {ranks} ranks, as a part of a scenario file\n{tree_text(parts)}")


def _scenario(name: str, ranks: int, dtype: str | None, stack: str | None) -> dict[str, Any]:
    from yantra.cli.typed import as_typed
    from yantra.scenario.named import expanded

    cluster = {"name": name, "ranks": ranks} | ({} if dtype is None else {"dtype": dtype})
    chosen = {} if stack is None else {"stack": stack}
    with as_typed({"cluster.ranks": "--ranks", "cluster.dtype": "--dtype", "stack": "--stack"}):
        tree: dict[str, Any] = expanded({"cluster": cluster, **chosen}, "")[0]
    return tree


def _network_cost(machine: Cluster, parts: dict[str, Any]) -> tuple[Item, ...]:
    from yantra.explore.study.network_cost import of_cluster

    return of_cluster(machine, [one["size"] for one in parts["cluster"]["topology"]])


def _check_alone(ranks: int | None, dtype: str | None, stack: str | None) -> None:
    for flag, value in (("--ranks", ranks), ("--dtype", dtype), ("--stack", stack)):
        if value is not None:
            raise click.UsageError(f"{flag} goes with the NAME of a cluster")


def _list(as_json: bool) -> None:
    from yantra.base.text import table
    from yantra.fabric import clusters
    from yantra.fabric.clusters.describe import HEAD, overview, row

    machines = [clusters.load(name) for name in clusters.names()]
    if as_json:
        print_json([overview(machine) for machine in machines])
    else:
        lines = table(HEAD, [row(machine) for machine in machines], left=len(HEAD))
        sys.stdout.write("\n".join(lines) + "\n")
