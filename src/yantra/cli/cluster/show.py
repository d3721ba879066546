"""`yantra cluster show`: shows every number of a cluster with its source."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from yantra.cli.command import WithExamples, json_option
from yantra.cli.complete import clusters as cluster_names
from yantra.cli.file_options import answered, stack_option
from yantra.cli.plugin_option import option as plugin_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra cluster show hgx-h100",
        "yantra cluster show dgx-a100-80gb --ranks 64",
        "yantra cluster show mi300x --json",
    ],
)
@click.argument("name", shell_complete=cluster_names)
@click.option("--ranks", type=int, help="Also show the scenario of this many ranks.")
@click.option("--dtype", help="The data type whose peak rate the scenario uses.")
@stack_option
@answered("--speeds")
@plugin_option
@json_option
def command(
    name: str, ranks: int | None, dtype: str | None, stack: str | None, as_json: bool
) -> None:
    """Show every number of the cluster NAME, or of a file of that form, with its source."""
    from yantra.cli import warn
    from yantra.fabric import clusters
    from yantra.fabric.clusters.describe import as_dict, report
    from yantra.fabric.clusters.laws import doubts
    from yantra.scenario.text import tree_text

    machine = clusters.load(name)
    warn([f"{name}: {doubt}" for doubt in doubts(machine)])
    parts: dict[str, Any] = {}
    if ranks is not None:
        parts = _scenario(name, ranks, dtype, stack)
    elif dtype is not None:
        machine.peak_flops(dtype, where="--dtype")
    if as_json:
        form = as_dict(machine) | ({"scenario": parts} if parts else {})
        sys.stdout.write(json.dumps(form, ensure_ascii=False, indent=1) + "\n")
        return
    sys.stdout.write(report(machine))
    if parts:
        sys.stdout.write(f"\n# {ranks} ranks, as a part of a scenario file\n{tree_text(parts)}")


def _scenario(name: str, ranks: int, dtype: str | None, stack: str | None) -> dict[str, Any]:
    """Return the parts of a scenario file that a named cluster stands for."""
    from yantra.cli.typed import as_typed
    from yantra.scenario.named import expanded

    cluster = {"name": name, "ranks": ranks} | ({} if dtype is None else {"dtype": dtype})
    chosen = {} if stack is None else {"stack": stack}
    with as_typed({"cluster.ranks": "--ranks", "cluster.dtype": "--dtype", "stack": "--stack"}):
        tree: dict[str, Any] = expanded({"cluster": cluster, **chosen}, "")[0]
    return tree
