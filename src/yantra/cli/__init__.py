"""The command line: `yantra <command>`.

Only what a line needs is imported: `--version` needs nothing, `astra-sim` no click, numpy or rich.
Exit status: 0; 2 for a mistake in the input; 3 if the model has no answer; 70 for a bug; 130 when
interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, TextIO, cast

from yantra import __version__
from yantra.base.errors import ConfigError, YantraError, as_json, internal_error
from yantra.base.printable import Printable
from yantra.base.trust import Command

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

_JSON = frozenset({"--json", "--json=true", "--json=1"})
COMPLETING = "_YANTRA_COMPLETE"  # set by a shell's completion
_is_json = False  # whether this process's errors and warnings are JSON
_INTERRUPTED = 130
_TERMINATED = 143
_BROKEN_PIPE = 141  # what a shell reports after SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit status."""
    if COMPLETING in os.environ:
        from yantra.cli.complete import answer

        return answer(COMPLETING)
    return _run(sys.argv[1:] if argv is None else list(argv))


def guarded(command: Callable[[], int], json: bool) -> int:
    """Run a command; exceptions become messages and exit statuses.

    `json` makes errors and warnings JSON objects, one a line. No code runs but what the line names
    or the user trusts.
    """
    global _is_json
    _is_json = json
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        cast("TextIO", Printable(streams[0])),
        cast("TextIO", Printable(streams[1])),
    )
    try:
        return _guarded(command, json)
    finally:
        sys.stdout, sys.stderr = streams


def _guarded(command: Callable[[], int], json: bool) -> int:
    try:
        _end_on_sigterm()
        with Command(), _waiting():
            status = command()
        sys.stdout.flush()
        return status
    except YantraError as error:
        return _report(error, json)
    except KeyboardInterrupt as stop:
        return _stopped(stop)
    except BrokenPipeError:
        _silence_stdout()
        return _BROKEN_PIPE
    except OSError as error:
        if not _is_of_stdout(error):
            _trace_if_asked()
            return _report(internal_error(error), json)
        _silence_stdout()
        problem = f"cannot be written: {error.strerror or error}"
        return _report(ConfigError("standard output", problem), json)
    except Exception as error:
        _trace_if_asked()
        return _report(internal_error(error), json)


def _waiting() -> AbstractContextManager[None]:
    """The bar of a command on a terminal, which alone imports it."""
    from contextlib import nullcontext

    if not sys.stderr.isatty():
        return nullcontext()
    from yantra.cli.progress import waiting

    return waiting()


def _run(arguments: list[str]) -> int:
    return guarded(lambda: _dispatch(arguments), not _JSON.isdisjoint(arguments))


def warn(texts: Sequence[str]) -> None:
    if _is_json:
        from json import dumps

        lines = [dumps({"warning": text}, ensure_ascii=False) for text in texts]
    else:
        lines = [f"warning: {text}" for text in texts]
    sys.stderr.write("".join(f"{line}\n" for line in lines))


class _TerminatedError(KeyboardInterrupt):
    """SIGTERM, handled as an interruption."""


def _end_on_sigterm() -> None:
    def end(_signal: int, _frame: object) -> None:
        raise _TerminatedError

    # Others' handlers stay, as in processes that run us in a thread.
    try:
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, end)
    except ValueError:
        return


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


def _stopped(stop: KeyboardInterrupt) -> int:
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not in a thread, which Ctrl-C does not reach
        before = None
    try:
        if output := sys.modules.get("yantra.base.output"):
            output.remove_unfinished()
        if stop.args:  # the run's progress
            warn([str(stop.args[0])])
        if isinstance(stop, _TerminatedError):
            return _tell("terminated", _TERMINATED)
        return _tell("interrupted", _INTERRUPTED)
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def _tell(what: str, status: int) -> int:
    if _is_json:
        from json import dumps

        form = {"error": what.capitalize(), "exit_code": status, "message": what}
        sys.stderr.write(dumps(form) + "\n")
    else:
        sys.stderr.write(f"error: {what}\n")
    return status


def _trace_if_asked() -> None:
    import traceback

    if os.environ.get("YANTRA_DEBUG") == "1":
        traceback.print_exc()


def _is_of_stdout(error: OSError) -> bool:
    """Return whether a failed write was to standard output:

    errors of files have names, or became ConfigErrors.
    """
    import errno

    unwritten = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
    return error.errno in unwritten and error.filename is None


def _silence_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
