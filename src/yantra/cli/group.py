"""The commands that go through click, each imported only when it is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar

import click

from yantra import __version__
from yantra.errors import ConfigError, did_you_mean

COMMANDS = {
    "run": "Run a scenario file and show what its ranks did.",
    "explain": "Say in words why a run takes as long as it does.",
    "compare": "Tell what changed from one result to another, and why.",
    "sweep": "Run many scenario files on all cores, one line each.",
    "validate": "Check a scenario or ASTRA-sim inputs without running them.",
    "workload": "Make, show and expand workloads: what a job computes and communicates.",
    "cluster": "List named clusters, and show their numbers with sources.",
    "chakra": "Link, convert and look at execution traces.",
    "astra-sim": "Run ASTRA-sim's inputs and print ASTRA-sim's lines.",
    "demo": "Run four examples.",
}


class Commands(click.Group):
    """A command group that knows names and one-line helps without importing a command.

    `package` holds one module per command of `known`, each with its `command`.
    """

    known: ClassVar[Mapping[str, str]] = COMMANDS
    package = "yantra.cli"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return list(self.known)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self.known:
            return None
        command: click.Command = import_module(f"{self.package}.{cmd_name}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command of the arguments, or say which one was probably meant."""
        if args and args[0] not in self.known and not args[0].startswith("-"):
            ctx.fail(f"no command is named '{args[0]}'{did_you_mean(args[0], self.known)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.known.items()))


@click.command(cls=Commands)
@click.version_option(__version__, message="yantra %(version)s")
def yantra() -> None:
    """Predict how a distributed machine-learning job runs on a cluster."""


def run(arguments: Sequence[str]) -> int:
    """Run a command line through click; its complaints become errors like all others.

    Not through `Group.main`, which answers a closed pipe itself.
    """
    try:
        with yantra.make_context("yantra", list(arguments)) as context:
            status = yantra.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "yantra"
        problem = error.format_message().rstrip(".")
        raise ConfigError(command, f"{problem}; see {command} --help") from None
    except click.ClickException as error:
        raise ConfigError("yantra", error.format_message()) from None
    return status if isinstance(status, int) else 0
