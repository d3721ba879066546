"""`yantra service`: serves the API of ASTRA-sim Service over gRPC."""

from __future__ import annotations

import ipaddress
import os
import sys

import click

from yantra.base.errors import ConfigError
from yantra.cli.command import WithExamples
from yantra.service.worker import TOKEN

_SHORTEST_TOKEN = 16


@click.command(
    cls=WithExamples,
    seldom=(
        "token_file",
        "upload_limit",
        "unpacked_limit",
        "time_limit",
        "memory_limit",
    ),
    examples=["yantra service", "yantra service --port 8990 --time-limit '60 s'"],
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8989, show_default=True, type=click.IntRange(0, 65535),
              help="Port to listen on; 0 for a free one.")  # fmt: skip
@click.option("--token-file", type=click.Path(), help="File with the token that every call needs; "
              f"else ${TOKEN}. Required beyond loopback.")  # fmt: skip
@click.option("--upload-limit", default="256 MiB", show_default=True, metavar="SIZE",
              help="The most bytes of one upload.")  # fmt: skip
@click.option("--unpacked-limit", default="1 GiB", show_default=True, metavar="SIZE",
              help="The most bytes that an upload may unpack to.")  # fmt: skip
@click.option("--time-limit", default="600 s", show_default=True, metavar="TIME",
              help="The longest that a simulation may run.")  # fmt: skip
@click.option("--memory-limit", metavar="SIZE", help="The most memory that a simulation may take; "
              "by default nine tenths of what is free.")  # fmt: skip
def command(
    host: str,
    port: int,
    token_file: str | None,
    upload_limit: str,
    unpacked_limit: str,
    time_limit: str,
    memory_limit: str | None,
) -> int:
    """Serve the API of ASTRA-sim Service over gRPC, so that its clients run unchanged.

    Backends ns3 and htsim run on Yantra's networks, with differences in the log. No code of an
    upload runs.
    """
    from yantra.base.memory import read_limit
    from yantra.base.trust import close_store
    from yantra.base.units import read_seconds
    from yantra.cli.progress import paused
    from yantra.service.archive import ArchiveLimits
    from yantra.service.server import serve
    from yantra.service.session import Limits, Session

    close_store()
    address, token = _address(host, port), _token(token_file)
    if not _is_loopback(host) and token is None:
        problem = (
            f"{host} is not loopback, and there is no token; expected --token-file or ${TOKEN}"
        )
        raise ConfigError("--host", problem)
    seconds = read_seconds(time_limit, "--time-limit")
    packed = read_limit(upload_limit, "--upload-limit")
    unpacked = read_limit(unpacked_limit, "--unpacked-limit")
    memory = None if memory_limit is None else read_limit(memory_limit)
    session = Session(Limits(ArchiveLimits(packed, unpacked), seconds, memory))
    try:
        server, actual = serve(session, address, token, packed)
        sys.stdout.write(f"listening at {_address(host, actual)}\n")
        sys.stdout.flush()
        try:
            with paused():
                server.wait_for_termination()
        finally:
            server.stop(0).wait()
    finally:
        session.close()
    return 0


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _token(path: str | None) -> str | None:
    """Return the token, kept off command lines, which others can see."""
    where, text = f"${TOKEN}", os.environ.get(TOKEN)
    if path is not None:
        from yantra.base.documents import read_text

        where, text = path, read_text(path)
    if text is None:
        return None
    token = text.strip()
    if len(token) < _SHORTEST_TOKEN or not (token.isascii() and token.isprintable()):
        problem = f"expected a token of at least {_SHORTEST_TOKEN} ASCII characters"
        raise ConfigError(where, f"{problem}, got {len(token)}")
    return token
