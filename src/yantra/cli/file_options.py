"""What every command that takes a file to run has in common: `--set`, and `--cluster`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from yantra.cli.complete import clusters

if TYPE_CHECKING:
    from yantra.scenario import Case

set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PATH=VALUE",
    help="Set a field of the scenario: network=ideal, cluster.topology[0].bandwidth=x2 (or +10%). "
    "May be repeated.",
)
cluster_option = click.option(
    "--cluster",
    shell_complete=clusters,
    help="For a workload: a named cluster, or the path of its file.",
)


def case_of(file: str, cluster: str | None, settings: tuple[str, ...]) -> Case:
    """Return a file with its cluster and its settings. Raises ConfigError."""
    from yantra.scenario import Case

    return Case(file, cluster, read_settings(settings))


def read_settings(texts: tuple[str, ...]) -> dict[str, Any]:
    """Return the plain trees that `--set` gives, by path; cheap where there are none."""
    if not texts:
        return {}
    from yantra.scenario.settings import parsed

    return parsed(texts)
