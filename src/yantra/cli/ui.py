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
@plugin_option
def command(port: int, browser: bool) -> None:
    """Serve a page with model, plan and cluster as controls; changing one runs the step.

    It listens on the loopback address, for this machine only. It runs no code of files but that
    of --plugin, whatever you trust. Ctrl-C ends it.
    """
    from yantra.base.errors import ConfigError
    from yantra.base.trust import close_store
    from yantra.ui.server import Server

    close_store()
    try:
        server = Server(port)
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
