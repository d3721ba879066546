"""`yantra ui`: a page with model, plan and cluster as controls."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from yantra.cli.command import WithExamples
from yantra.cli.complete import clusters, models, stacks
from yantra.cli.plugin_option import option as plugin_option

if TYPE_CHECKING:
    from yantra.ui.controls import Offered


def _offered(command: Callable[..., Any]) -> Callable[..., Any]:
    for kind, complete in (("stack", stacks), ("cluster", clusters), ("model", models)):
        command = click.option(
            f"--{kind}",
            f"{kind}s",
            multiple=True,
            metavar="NAME|FILE",
            shell_complete=complete,
            help=f"A {kind} that the page offers first, by name or file; may be repeated.",
        )(command)
    return command


@click.command(
    cls=WithExamples,
    seldom=(
        "time_limit",
        "memory_limit",
        "stack",
    ),
    examples=[
        "yantra ui",
        "yantra ui --port 8800 --browser",
        "yantra ui --cluster my-cluster.yaml --model config.json --stack my-stack.yaml",
    ],
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8765,
    show_default=True,
    help="The port of this machine; 0 for any that is free.",
)
@click.option("--browser", is_flag=True, help="Open the page in the browser.")
@click.option(
    "--time-limit",
    default="600 s",
    show_default=True,
    metavar="TIME",
    help="The longest that a run or a search may take.",
)
@click.option(
    "--memory-limit",
    metavar="SIZE",
    help="The most memory that a run or a search may take; by default a share of what is free.",
)
@_offered
@plugin_option
def command(
    port: int,
    browser: bool,
    time_limit: str,
    memory_limit: str | None,
    models: tuple[str, ...],
    clusters: tuple[str, ...],
    stacks: tuple[str, ...],
) -> None:
    """Serve a page with model, plan and cluster as controls; changing one runs the step.

    It listens on the loopback address. It runs only code of --plugin and --model, and opens only
    files named here. Stop, or leaving the page, ends a run.
    """
    from yantra.base.errors import ConfigError
    from yantra.base.memory import read_limit
    from yantra.base.trust import close_store
    from yantra.base.units import read_seconds
    from yantra.cli.progress import paused
    from yantra.ui.server import Server
    from yantra.ui.workers import Limits

    close_store()
    memory = None if memory_limit is None else read_limit(memory_limit)
    limits = Limits(read_seconds(time_limit, "--time-limit"), memory)
    offered = _checked(models, clusters, stacks)
    try:
        server = Server(port, limits, offered)
    except OSError as error:
        why = f"port {port} cannot be used ({error.strerror}); give another one, or 0 for any"
        raise ConfigError("--port", why) from None
    with _until_stopped(), server, paused():
        with suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
            sys.stdout.write(f"{server.address} is open to this machine alone; Ctrl-C ends it\n")
            sys.stdout.flush()
            if browser:
                import webbrowser

                webbrowser.open(server.address)
            server.serve_forever()
        for number in _ENDS:  # once is enough
            signal.signal(number, signal.SIG_IGN)


_ENDS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def _until_stopped() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _ENDS}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _checked(
    models: tuple[str, ...], clusters: tuple[str, ...], stacks: tuple[str, ...]
) -> Offered:
    from yantra.explore.closed_form.on_stack import check_stack
    from yantra.fabric.clusters import load
    from yantra.fabric.infragraph import is_infragraph
    from yantra.ui.controls import Offered
    from yantra.workloads.models import catalogue

    for name in models:
        catalogue.find(name, "--model")
    for name in clusters:
        if not is_infragraph(name):
            load(name, where="--cluster")
    for name in stacks:
        check_stack(name, "--stack")
    return Offered(models, clusters, stacks)
