"""Options of commands that take a file: `--set`, `--cluster`, `--stack`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from yantra.cli.complete import clusters, stacks

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.scenario import Case

F = TypeVar("F", bound="Callable[..., Any]")

set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PATH=VALUE",
    help="Set a field of the scenario: network=ideal, semantics=astra-sim, "
    "collectives.all_reduce=ring, cluster.topology[0].bandwidth=x2 (or +10%). May be repeated.",
)
cluster_option = click.option(
    "--cluster",
    shell_complete=clusters,
    help="For a workload: a named cluster, or the path of its file.",
)


stack_option = click.option(
    "--stack",
    metavar="NAME|FILE",
    shell_complete=stacks,
    help="At which speeds it runs: those of a framework, by name (yantra stack show) or file, "
    "auto, unknown, roofline or nominal.",
)

_NOW = {
    "--speeds": "--stack: achievable is roofline, nominal is nominal, measured is unknown",
    "--profile": "--stack FILE: a file with `kernels:` in it, as yantra calibrate writes it",
    "--collectives": "--stack FILE: a file with `collectives:` in it, as yantra calibrate writes "
    "it",
    "--dtype": "what the workload says: yantra workload train --dtype; traces take "
    "--set cluster.dtype=",
}
"""Options that there were, and what says it now."""


def answered(*names: str) -> Callable[[F], F]:
    def refuse(_context: click.Context, option: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise click.UsageError(f"{option.opts[0]} is now {_NOW[option.opts[0]]}")

    def decorated(command: F) -> F:
        for name in names:
            command = click.option(name, hidden=True, expose_value=False, callback=refuse)(command)
        return command

    return decorated


def case_of(
    file: str, cluster: str | None, settings: tuple[str, ...], stack: str | None = None
) -> Case:
    from yantra.scenario import Case

    return Case(file, cluster, read_settings(settings, stack))


def read_settings(texts: tuple[str, ...], stack: str | None = None) -> dict[str, Any]:
    chosen = {} if stack is None else {"stack": stack}
    if not texts:
        return chosen
    from yantra.scenario.settings import parsed

    settings = parsed(texts)
    if stack is not None and "stack" in settings:
        raise click.UsageError("--stack and --set stack= say the same; give one of the two")
    return chosen | settings
