"""The command line: `yantra <command>`.

What a command line asks for decides what is imported: `--version` needs nothing, `astra-sim` no
click, no numpy and no rich. Exit status: 0, 2 for a mistake in the input, 3 where the model has no
answer (deadlock, unsupported), 70 for a fault of Yantra, 130 when interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from yantra import __version__
from yantra.errors import YantraError, as_json, internal_error

_JSON = frozenset({"--json", "--json=true", "--json=1"})
_INTERRUPTED = 130
_BROKEN_PIPE = 141  # what a shell reports for a program that SIGPIPE ended


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    return guarded(lambda: _dispatch(arguments), not _JSON.isdisjoint(arguments))


def guarded(command: Callable[[], int], json: bool) -> int:
    """Run a command; turn every exception into a message and an exit status."""
    try:
        status = command()
        sys.stdout.flush()
        return status
    except YantraError as error:
        return _report(error, json)
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        return _INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return _BROKEN_PIPE
    except Exception as error:
        _trace_if_asked()
        return _report(internal_error(error), json)


def warn(texts: Sequence[str]) -> None:
    """Write warnings to standard error."""
    sys.stderr.write("".join(f"warning: {text}\n" for text in texts))


def _dispatch(arguments: list[str]) -> int:
    first = arguments[0] if arguments else "--help"
    if first == "--version":
        sys.stdout.write(f"yantra {__version__}\n")
        return 0
    if first == "astra-sim":
        from yantra.cli import astra_sim

        return astra_sim.main(arguments[1:])
    from yantra.cli.group import run

    return run(arguments or ["--help"])


def _report(error: YantraError, json: bool) -> int:
    if json:
        from json import dumps

        sys.stderr.write(dumps(as_json(error), ensure_ascii=False) + "\n")
    else:
        sys.stderr.write(f"error: {error}\n")
    return error.exit_code


def _trace_if_asked() -> None:
    import os
    import traceback

    if os.environ.get("YANTRA_DEBUG") == "1":
        traceback.print_exc()


def _silence_stdout() -> None:
    """Let the interpreter's last flush of standard output go nowhere."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
