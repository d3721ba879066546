"""Results read back from their JSON form, and the run of a scenario in that form.

Everything here works on the form, whichever way it came, so that a result of last year and one of
a moment ago are explained and compared alike.
"""

from __future__ import annotations

import json
import os
from functools import cache
from importlib.resources import files
from os import path as paths
from typing import Any

from yantra.base.documents import RESULT_FORMAT, Path, parse_own_json, read_text
from yantra.base.errors import ConfigError, expected_got, show
from yantra.explain.form_check import check_form
from yantra.export.json import VERSION

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
    try:
        check_form(form, _schema(), "")
        _check_lengths(form)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error.where}", error.problem) from None
    return form


def folder_of(path: Path) -> str:
    """Return the folder from which relative paths of a result start."""
    return paths.dirname(os.fspath(path))


_HOW = "; yantra run SCENARIO -o result.json writes one"


@cache
def _schema() -> Form:
    schema: Form = json.loads(files("yantra.export").joinpath("result.schema.json").read_text())
    return schema


def _check_lengths(form: Form) -> None:
    """Check that the columns of a table are of one length."""
    tables = {f"tables.{table}": columns for table, columns in form["tables"].items()}
    if "critical_path" in form:
        tables["critical_path.steps"] = form["critical_path"]["steps"]
    for where, columns in tables.items():
        if not isinstance(columns, dict):
            raise ConfigError(where, expected_got("a mapping", columns))
        lengths = {len(column) if isinstance(column, list) else None for column in columns.values()}
        if None in lengths or len(lengths) > 1:
            raise ConfigError(where, "expected lists of one length, one per column")
