"""Unique names for results of many scenarios.

Equal file names differ by ending, then folders: `s1/ring.yaml` and `s2/ring.yaml` become `s1+ring`
and `s2+ring`. Settings follow: `ring,collectives.chunks=4`.

Trade-off: no list places, so a longer list keeps a shorter one's results, unless it adds a second
file of a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256
from os import path as paths
from typing import Any

from yantra.base.documents import Path
from yantra.scenario import Case, Scenario

_UNFIT = re.compile(r"[^A-Za-z0-9._=,+%()\[\]-]")
_LONGEST = 200  # leaves room for an ending
_HEX_DIGITS = 8
_LEVELS_PER_FOLDER = 2  # with and without the file's ending


def result_names(scenarios: Sequence[Scenario | Path | Case]) -> list[str]:
    """Same file and settings, same name; scenarios from Python get numbers."""
    cases = [case_of(given) for given in scenarios]
    files = _told_apart([paths.abspath(case.path) for case in cases if case])
    has_clusters = len({case.cluster for case in cases if case}) > 1
    whole = [
        _whole_name(case, files, has_clusters) if case else f"scenario {at}"
        for at, case in enumerate(cases)
    ]
    short = {name: _UNFIT.sub("_", name) for name in whole}
    shared = Counter(short.values())
    is_unclear = {name for name, cut in short.items() if shared[cut] > 1 or len(cut) > _LONGEST}
    return [_marked(short[name], name) if name in is_unclear else short[name] for name in whole]


def case_of(given: Scenario | Path | Case) -> Case | None:
    if isinstance(given, Scenario | Case):
        return given if isinstance(given, Case) else None
    return Case(given)


def _whole_name(case: Case, files: dict[str, str], with_cluster: bool) -> str:
    settings = [f"{path}={_plain(value)}" for path, value in case.settings.items()]
    cluster = [f"cluster={case.cluster}"] if with_cluster and case.cluster else []
    return ",".join([files[paths.abspath(case.path)], *cluster, *settings])


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(_plain, value))}]"
    if isinstance(value, dict):
        return f"({','.join(f'{key}={_plain(item)}' for key, item in value.items())})"
    return {None: "null", True: "true", False: "false"}[value] if _is_word(value) else str(value)


def _is_word(value: Any) -> bool:
    return value is None or isinstance(value, bool)


def _marked(short: str, name: str) -> str:
    digits = sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:_HEX_DIGITS]
    return f"{short[:_LONGEST]}-{digits}"


def _told_apart(files: Iterable[str]) -> dict[str, str]:
    # As little of each path as no other has.
    distinct = list(dict.fromkeys(files))
    names: dict[str, str] = {}
    left, taken, level = distinct, set[str](), 0
    while left:
        counts = Counter(_part(file, level) for file in distinct)
        for file in left:
            name = _part(file, level)
            if name not in taken and (counts[name] == 1 or name == _part(file, level + 2)):
                names[file] = name if counts[name] == 1 else _marked(name, file)
        taken.update(names.values())
        left = [file for file in left if file not in names]
        level += 1
    return names


def _part(file: str, level: int) -> str:
    folder, base = paths.split(file)
    folders, with_ending = divmod(level, _LEVELS_PER_FOLDER)
    above = [part for part in folder.split(paths.sep) if part]
    name = base if with_ending else paths.splitext(base)[0]
    return "+".join([*above[len(above) - min(folders, len(above)) :], name])
