"""Results read back from their JSON form, and the run of a scenario in that form.

Everything here works on the form, whichever way it came, so that a result of last year and one of
a moment ago are explained and compared alike.
"""

from __future__ import annotations

import os
from os import path as paths
from typing import Any

from yantra.documents import RESULT_FORMAT, Path, parse_own_json, read_text
from yantra.errors import ConfigError, expected_got, show
from yantra.result.files import VERSION

Form = dict[str, Any]


def read_result(path: Path) -> Form:
    """Read a result in JSON; raise ConfigError for what is not one, or is newer than we know."""
    return result_of(read_text(path), os.fspath(path))


def result_of(text: str, name: str) -> Form:
    """Return the form in the text of a file; `name` is for errors."""
    if text.lstrip()[:1] != "{":
        raise ConfigError(name, f"not a result in JSON{_HOW}")
    form = parse_own_json(text, name)
    if form.get("format") != RESULT_FORMAT:
        got = f"its format is {show(form['format'])}" if "format" in form else "it has no format"
        raise ConfigError(name, f"not a result: {got}{_HOW}")
    version = form.get("version")
    if not isinstance(version, int) or version < 1:
        raise ConfigError(f"{name}: version", expected_got("a whole number from 1", version))
    if version > VERSION:
        problem = f"{version} is newer than {VERSION}, the last that this version of Yantra reads"
        raise ConfigError(f"{name}: version", f"{problem}; update Yantra")
    _check_members(form, name)
    return form


def folder_of(path: Path) -> str:
    """Return the folder from which relative paths of a result start."""
    return paths.dirname(os.fspath(path))


_HOW = "; yantra run SCENARIO -o result.json writes one"
_NEEDED: dict[str, tuple[tuple[type, ...], str]] = {
    "makespan_ns": ((int, float), "a number"),
    "bound_by": ((dict,), "a mapping"),
    "tables": ((dict,), "a mapping"),
}
_KNOWN: dict[str, tuple[tuple[type, ...], str]] = {
    "scenario": ((dict,), "a mapping"),
    "inputs": ((dict,), "a mapping"),
    "critical_path": ((dict,), "a mapping"),
}


def _check_members(form: Form, name: str) -> None:
    """Check what is read of a file, so that a damaged one is told of and nothing else breaks."""
    for member, (kinds, expected) in (_NEEDED | _KNOWN).items():
        if member not in form:
            if member in _NEEDED:
                raise ConfigError(f"{name}: {member}", f"missing; expected {expected}")
        elif not isinstance(form[member], kinds) or isinstance(form[member], bool):
            raise ConfigError(f"{name}: {member}", expected_got(expected, form[member]))
    for table, columns in form["tables"].items():
        lengths = (
            {len(column) if isinstance(column, list) else -1 for column in columns.values()}
            if isinstance(columns, dict)
            else {-1}
        )
        if -1 in lengths or len(lengths) > 1:
            problem = "expected lists of one length, one per column"
            raise ConfigError(f"{name}: tables.{table}", problem)
