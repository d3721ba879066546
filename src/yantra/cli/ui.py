"""`yantra ui`: a page on which model, plan and cluster are controls."""

from __future__ import annotations

import sys
from contextlib import suppress

import click

from yantra.cli.command import WithExamples
from yantra.cli.plugin_option import option as plugin_option


@click.command(cls=WithExamples, examples=["yantra ui", "yantra ui --port 8800 --browser"])
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
@plugin_option
def command(port: int, browser: bool, time_limit: str, memory_limit: str | None) -> None:
    """Serve a page with model, plan and cluster as controls; changing one runs the step.

    It listens on the loopback address, for this machine only. It runs no code of files but that
    of --plugin, whatever you trust. Stop on the page, or leaving it, ends a run; Ctrl-C ends all.
    """
    from yantra.base.errors import ConfigError
    from yantra.base.memory import read_limit
    from yantra.base.trust import close_store
    from yantra.base.units import read_seconds
    from yantra.ui.server import Server
    from yantra.ui.workers import Limits

    close_store()
    memory = None if memory_limit is None else read_limit(memory_limit)
    limits = Limits(read_seconds(time_limit, "--time-limit"), memory)
    try:
        server = Server(port, limits)
    except OSError as error:
        why = f"port {port} cannot be used ({error.strerror}); give another one, or 0 for any"
        raise ConfigError("--port", why) from None
    with server, suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
        sys.stdout.write(f"{server.address} is open to this machine alone; Ctrl-C ends it\n")
        sys.stdout.flush()
        if browser:
            import webbrowser

            webbrowser.open(server.address)
        server.serve_forever()
