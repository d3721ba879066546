"""click's commands, imported when called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar

import click

from yantra import __version__
from yantra.base.errors import ConfigError
from yantra.base.notes import notes_to
from yantra.cli import warn
from yantra.cli.command import COMMON, WithExamples

COMMANDS = {
    "run": "Run a scenario file and show what its ranks did.",
    "explain": "Explain in words why a run takes as long as it does.",
    "plot": "Draw link load, bandwidth against size, or a Gantt chart of a run.",
    "compare": "Show what changed from one result to others, and why.",
    "sweep": "Run many scenario files on all cores, one line each.",
    "plan": "Find the best plans of a training job on clusters, and why others lose.",
    "explore": "Study which cluster, of which size and speed, is best for a model.",
    "ui": "Serve a page with model, plan and cluster as controls, to this machine.",
    "validate": "Check a scenario or ASTRA-sim inputs, and whether they run to their end.",
    "schema": "Print the JSON Schema of scenario files or results, for editors.",
    "workload": "Make, show and expand workloads: what a job computes and communicates.",
    "cluster": "List named clusters, and show their numbers with sources.",
    "topology": "List kinds of fabrics, show the figures of one, and draw it.",
    "collective": "Bound, make, measure and draw collectives on a fabric.",
    "network": "Compare networks on a job, or study one with flows, without a job.",
    "device": "Show time, area, power and cost of a device that a file describes.",
    "stack": "List named stacks (frameworks), and show their terms with sources.",
    "accuracy": "Say how far predictions are from published measurements.",
    "calibrate": "Make a stack or the profile of a machine from what you measured.",
    "microbench": "Measure kernels on this machine's GPU, for calibrate.",
    "trace": "Ask a recorded job where its time went, and what would change it.",
    "synth": "Draw jobs that behave as yours at other settings, and hide what they are.",
    "chakra": "Link, convert and look at execution traces.",
    "astra-sim": "Run ASTRA-sim's inputs and print ASTRA-sim's lines.",
    "serve": "Serve requests on engines: what users wait for, why, and what it costs.",
    "rl": "Say how long a step of post-training by reinforcement takes.",
    "library": "Make traces from hundreds of recipes: models, plans, engines, recordings.",
    "suite": "Choose traces that stand for many, and rank clusters by them.",
    "life": "Say what failures cost a job over its days, and which policies pay.",
    "day": "Say who waits on a cluster in a day of a public trace of jobs.",
    "service": "Serve the API of ASTRA-sim Service over gRPC.",
    "new": "Write a starting point for a plug-in: a topology, an algorithm, a model.",
    "contract": "Check a plug-in against the laws of its kind.",
    "trust": "Let the code in a folder run when files of yours name it.",
    "demo": "Run four examples.",
    "doctor": "Check the installation, and say what to do.",
    "completion": "Print the script that completes commands in a shell.",
}
EXAMPLES = (
    "yantra demo",
    "yantra run step.yaml",
    "yantra workload train --model llama3-8b --tp 4 --dp 2 -o step.yw",
    "yantra run --workload step.yw --cluster hgx-h100",
    "yantra chakra stats 'job.{rank}.et'",
)


class Commands(WithExamples, click.Group):
    """A group with names and helps, without importing commands.

    `package` has a module per command of `known`. `was` are older names, `moved` answers removed
    ones; `seldom_called` are named without their help.
    """

    known: ClassVar[Mapping[str, str]] = COMMANDS
    was: ClassVar[Mapping[str, str]] = {}
    moved: ClassVar[Mapping[str, str]] = {}
    seldom_called: ClassVar[frozenset[str]] = frozenset()
    package = "yantra.cli"

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.known)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.known:
            return None
        return self.imported(cmd_name)

    def imported(self, name: str) -> click.Command:
        command: click.Command = import_module(f"{self.package}.{name}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] in self.was:
            args = [self.was[args[0]], *args[1:]]
        if args and args[0] in self.moved:
            ctx.fail(f"'{args[0]}' is now {self.moved[args[0]]}")
        if args and args[0] not in self.known and not args[0].startswith("-"):
            from yantra.cli.complaints import meant_command

            ctx.fail(f"no command is named '{args[0]}'{meant_command(args[0], self.known)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            shown = [item for item in self.known.items() if item[0] not in self.seldom_called]
            formatter.write_dl(shown)
        if self.seldom_called:
            formatter.write_paragraph()
            formatter.write_text(f"Also {', '.join(sorted(self.seldom_called))}.")


class _Yantra(Commands):
    """All commands. `astra-sim` reads its own options."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_commands(ctx, formatter)
        with formatter.section("Options of most commands"):
            formatter.write_dl(list(COMMON.items()))

    def imported(self, name: str) -> click.Command:
        if name != "astra-sim":
            return super().imported(name)
        from yantra.cli.astra_sim_options import command

        return command


@click.command(cls=_Yantra, examples=EXAMPLES)
@click.version_option(__version__, message="yantra %(version)s")
def yantra() -> None:
    """Predict how a distributed machine-learning job runs on a cluster."""


def run(arguments: Sequence[str]) -> int:
    """Run a line through click; complaints become our errors.

    Not `Group.main`, which handles closed pipes itself.
    """
    try:
        with (
            notes_to(lambda text: warn([text])),
            yantra.make_context("yantra", list(arguments)) as context,
        ):
            status = yantra.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.UsageError as error:
        from yantra.cli.complaints import problem_of

        command = _command_of(error, arguments)
        raise ConfigError(command, f"{problem_of(error)}; see {command} --help") from None
    except click.ClickException as error:
        raise ConfigError("yantra", error.format_message()) from None
    return status if isinstance(status, int) else 0


def _command_of(error: click.UsageError, arguments: Sequence[str]) -> str:
    """Return the command whose help is meant, which click's parser forgets."""
    if error.ctx:
        return error.ctx.command_path
    return f"yantra {arguments[0]}" if arguments and arguments[0] in COMMANDS else "yantra"
