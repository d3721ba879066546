"""`yantra cluster show`: shows every number of a cluster with its source."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from yantra.cli.command import WithExamples
from yantra.cli.complete import clusters as cluster_names
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
@click.option(
    "--speeds",
    type=click.Choice(["achievable", "nominal", "measured"]),
    default="achievable",
    show_default=True,
    help="Of the scenario: speeds as software achieves them, or as the data sheet states them.",
)
@plugin_option
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def command(name: str, ranks: int | None, dtype: str | None, speeds: Any, as_json: bool) -> None:
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
        parts = machine.scenario_parts(ranks, dtype, speeds=speeds, where="--")
        parts = {"cluster": parts, "collectives": parts.pop("collectives")}
    elif dtype is not None:
        machine.peak_flops(dtype, where="--dtype")
    if as_json:
        form = as_dict(machine) | ({"scenario": parts} if parts else {})
        sys.stdout.write(json.dumps(form, ensure_ascii=False, indent=1) + "\n")
        return
    sys.stdout.write(report(machine))
    if parts:
        sys.stdout.write(f"\n# {ranks} ranks, as a part of a scenario file\n{tree_text(parts)}")
