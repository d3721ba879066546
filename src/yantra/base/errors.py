"""The families of errors, and their texts.

The family decides the exit status: user input (2), the model's answer (3), our fault (70).
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST_SHOWN = 60


class YantraError(Exception):
    """Root of all errors raised on purpose."""

    exit_code = 70
    """Exit status of a command that ends with the error."""


class ConfigError(YantraError):
    """The scenario or a file of it is wrong; `where` names the field, `problem` the fault."""

    exit_code = 2
    """2: the user's input is wrong."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(where, problem)
        self.where = where
        """The field, file or option that is wrong."""
        self.problem = problem
        """What is wrong with it, what was expected and what came."""

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


class CapacityError(ConfigError):
    """The model's answer: more memory is needed than devices have."""

    exit_code = 3
    """3: the model's answer is that it cannot be done."""


class TraceError(YantraError):
    """A trace cannot be read or contradicts itself."""

    exit_code = 2
    """2: the user's input is wrong."""


class DeadlockError(YantraError):
    """The model ran out of events with work left."""

    exit_code = 3
    """3: the model's answer is that it cannot be done."""


class UnsupportedError(YantraError):
    """No model here answers this well-formed question."""

    exit_code = 3
    """3: no model here can answer."""


class InternalError(YantraError):
    """A bug in Yantra itself."""

    exit_code = 70
    """70: a bug in Yantra."""


def internal_error(error: Exception) -> YantraError:
    """Return the text for an exception not raised on purpose.

    One from a plug-in is its file's mistake.
    """
    from yantra.base.memory import is_short, out_of_memory

    # A module that could not be mapped, and what the interpreter raises without a reason.
    is_of_memory = isinstance(error, ImportError | SystemError) and is_short()
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        is_of_memory = True
    if is_of_memory:
        return UnsupportedError(out_of_memory())
    from yantra.base.plugin_modules import raised_in

    if (path := raised_in(error)) is not None:
        from yantra.base.plugin_files import what_was_raised

        return ConfigError(path, f"the plug-in failed: {what_was_raised(error)}")
    return InternalError(
        f"internal error: {type(error).__name__}: {error}\n"
        "This is a bug in Yantra, not in your input. Please report it with the input files "
        "and what the\nsame command prints with YANTRA_DEBUG=1 in its environment."
    )


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return `; did you mean 'bandwidth'?` for the closest candidate, or ""."""
    from difflib import get_close_matches

    by_key: dict[str, str] = {}
    for candidate in candidates:
        by_key.setdefault(_spelling_key(candidate), candidate)
    key = _spelling_key(name)
    begun = [known for known in by_key if len(key) > 2 and known.startswith(key)]
    close = begun or get_close_matches(key, by_key, n=1, cutoff=0.65)
    return f"; did you mean '{by_key[close[0]]}'?" if close else ""


def hint(name: str, known: Iterable[str]) -> str:
    """Return what to write instead of an unknown name: the closest, or all."""
    several = tuple(known)
    return did_you_mean(name, several) or f"; expected one of {', '.join(several)}"


def expected_got(expected: str, got: object) -> str:
    """Return `expected X, got Y`, Y as in JSON, shortened."""
    return f"expected {expected}, got {show(got)}"


def show(value: object) -> str:
    """Write an input value as JSON, cut to a short line."""
    import json

    text = ""
    try:
        for piece in json.JSONEncoder(ensure_ascii=False).iterencode(value):
            text += piece
            if len(text) > _LONGEST_SHOWN:
                break
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def as_json(error: YantraError) -> dict[str, object]:
    """The form of `--json`."""
    form: dict[str, object] = {
        "error": type(error).__name__,
        "exit_code": error.exit_code,
        "message": str(error),
    }
    if isinstance(error, ConfigError):
        form |= {"where": error.where, "problem": error.problem}
    return form


def _spelling_key(name: str) -> str:
    return name.lower().replace("_", "-").replace(" ", "-")
