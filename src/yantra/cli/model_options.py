"""The model and the cluster of commands that take no workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from yantra.cli.complete import clusters

if TYPE_CHECKING:
    from collections.abc import Callable

_CLUSTER = "A named cluster, or its file"


def model_option(*, required: bool = False) -> Callable[[Any], Any]:
    about = "A name such as llama3-70b, or a file of a model."
    return click.option("--model", required=required, help=about)


def cluster_option(*, required: bool = False) -> Callable[[Any], Any]:
    return click.option(
        "--cluster", required=required, shell_complete=clusters, help=f"{_CLUSTER}."
    )


clusters_option = click.option(
    "--cluster",
    "names",
    multiple=True,
    required=True,
    shell_complete=clusters,
    help=f"{_CLUSTER}; several are compared.",
)
