"""Which results of a sweep need not be made again: whole files of this version of Yantra, with the
same settings and digest of all inputs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import path as paths
from typing import Any

from yantra import __version__
from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError
from yantra.result.forms import exporter
from yantra.run.result_names import case_of
from yantra.scenario import Case, Scenario
from yantra.scenario.origin import digest_of, digests, tree_of
from yantra.scenario.types import Fold

Told = Mapping[str, Any]
"""A result's member `case`, with its digest or without."""


def told_of(given: Scenario | Path | Case, fold: Fold | None, file: str) -> dict[str, Any]:
    told: dict[str, Any] = {"fold": fold} if fold else {}
    case = case_of(given)
    if case is None:
        return told
    told["file"] = _from(paths.dirname(file), os.fspath(case.path))
    if case.cluster is not None:
        is_file = paths.isfile(case.cluster)
        told["cluster"] = _from(paths.dirname(file), case.cluster) if is_file else case.cluster
    if case.settings:
        told["settings"] = dict(case.settings)
    return told


def read_finished(file: str, told: Told) -> tuple[Any, str]:
    """A whole result of this file and version, else why not; neither without a file."""
    if not paths.lexists(file):
        return None, ""
    try:
        stored = exporter("json").read(read_text(file), file)
    except ConfigError as error:
        return None, f"{file} is not whole ({error.problem})"
    version = stored.form["yantra_version"]
    if version != __version__:
        return None, f"{file} is of Yantra {version}"
    if "case" not in stored.form:
        return None, f"{file} does not say which scenario it is of"
    of = {key: value for key, value in stored.form["case"].items() if key != "digest"}
    if of != told:
        return None, f"{file} is of {_described(of)}"
    return stored, ""


def difference(known: Told, inputs: Mapping[str, str], scenario: Scenario, file: str) -> str:
    folder = paths.dirname(file)
    now = digests(scenario, folder)
    digest = digest_of(scenario, tree_of(scenario, folder), now)
    if digest is None:
        return f"{file} is of a class that is not in a file, so it may have changed"
    if digest == known["digest"]:
        return ""
    changed = [name for name in now if now[name] != inputs.get(name)]
    what = f"its input {changed[0]}" if changed else "its scenario"
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return f"{file} is older than {what}{more}"


def _from(folder: str, path: str) -> str:
    return path if paths.isabs(path) or not folder else paths.relpath(path, folder)


def _described(of: Told) -> str:
    settings = (f"{path}={value}" for path, value in of.get("settings", {}).items())
    parts = [of.get("file", "a scenario from Python"), *settings]
    parts += [f"--{name} {of[name]}" for name in ("cluster", "fold") if name in of]
    return " ".join(parts)
