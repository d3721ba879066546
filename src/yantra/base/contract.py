"""Contracts: laws that every plug-in of a kind keeps, checked by one command.

A law takes a plug-in and an example and returns what is wrong, or None. An exception breaks the
law.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from yantra.base.errors import YantraError
from yantra.base.plugin_files import what_was_raised


class Contract(NamedTuple):
    """The contract of a kind, for a command line.

    `find` returns a plug-in by name or file, `violations` what is wrong, `summary` what was
    checked; `about` and `argument` are help, `module` is run by `python -m`.
    """

    kind: str
    """The kind of plug-in, such as "topology"."""
    module: str
    """The module that `python -m` runs for it."""
    about: str
    """What the command's help says."""
    argument: str
    """What the help calls the plug-in."""
    find: Callable[[str], Any]
    """Returns the plug-in of a name, or of the path of a file."""
    violations: Callable[[Any], Iterator[str]]
    """Yields what is wrong with a plug-in, a text for each law that it breaks."""
    summary: Callable[[Any], str]
    """Returns what was checked, for a plug-in that keeps all laws."""


class Verdict(NamedTuple):
    """The first broken law and its example; empty if all hold."""

    broken: str
    """The first law that is broken, and by which example; empty if all hold."""
    summary: str
    """What holds; empty if a law is broken."""


def check(contract: Contract, name: str) -> Verdict:
    """Check a plug-in by name or file. Raises ConfigError if it cannot be read."""
    plugin = contract.find(name)
    try:
        broken = next(contract.violations(plugin), None)
        return Verdict(broken, "") if broken else Verdict("", contract.summary(plugin))
    except YantraError:
        raise
    except Exception as error:
        return Verdict(f"it raises {what_was_raised(error)}", "")


def asked(law: Callable[..., str | None], *example: Any) -> str | None:
    """Return what a law says; an exception breaks it."""
    try:
        return law(*example)
    except YantraError:
        raise
    except Exception as error:
        return f"it raises {what_was_raised(error)}"


def first_broken(
    laws: Iterable[Callable[..., str | None]], label: str, *example: Any
) -> str | None:
    """Return the first broken law, as `label: law: what is wrong`, or None."""
    for law in laws:
        wrong = asked(law, *example)
        if wrong:
            return f"{label}: {law.__name__}: {wrong}"
    return None


def main(contract: Contract, arguments: Sequence[str] | None = None) -> int:
    """Check a plug-in from a command line; return its exit status."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {contract.module}", description=contract.about
    )
    parser.add_argument("plugin", metavar=contract.kind, help=contract.argument)
    try:
        verdict = check(contract, parser.parse_args(arguments).plugin)
    except YantraError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(verdict.broken or verdict.summary)
    return 1 if verdict.broken else 0
