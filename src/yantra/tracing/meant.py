"""The recordings that a folder, or names with `*`, stand for."""

from __future__ import annotations

import os
import re
import shlex
from collections import defaultdict
from collections.abc import Sequence
from glob import glob

from yantra.base.errors import ConfigError
from yantra.base.text import count
from yantra.chakra.other_formats import found_in
from yantra.tracing.pytorch.kinds import is_recording

_NUMBER = re.compile(r"[0-9]{1,9}")
_RANK = "{rank}"
_SHOWN = 6


def meant(arguments: Sequence[str]) -> tuple[str, ...]:
    """The files to read. Raises ConfigError for a folder of no job, or of several, with what to
    type.
    """
    found: list[str] = []
    for argument in arguments:
        if os.path.isdir(argument):
            found += _in_folder(argument)
        elif re.search(r"[*?]|\[.+\]", argument) and not os.path.exists(argument):
            found += sorted(glob(argument)) or [argument]
        else:
            found.append(argument)
    return tuple(found)


def _in_folder(folder: str) -> list[str]:
    paths = [entry.path for entry in os.scandir(folder) if entry.is_file()]
    recordings = sorted(path for path in paths if _is_one(path))
    jobs: dict[str, list[str]] = defaultdict(list)
    for path in recordings:
        jobs[_NUMBER.sub("#", os.path.basename(path))].append(path)
    if not jobs:
        raise ConfigError(
            folder,
            "a folder without recordings; expected traces of torch.profiler (.json, .json.gz), of "
            "another profiler, or Chakra traces (.et); name the files",
        )
    if len(jobs) > 1:
        some = [
            f"{shlex.quote(_pattern(of) or of[0])} ({count(len(of), 'file')})"
            for of in jobs.values()
        ]
        more = f" and {len(some) - _SHOWN} more" if len(some) > _SHOWN else ""
        listed = f"{', '.join(some[:_SHOWN])}{more}"
        raise ConfigError(folder, f"holds several recordings; name one of {listed}")
    (only,) = jobs.values()
    pattern = _pattern(only)
    return [pattern] if pattern else only


def _is_one(path: str) -> bool:
    if path.endswith((".et", ".et.gz")):
        return True
    kind = found_in(path)
    return kind.is_read if kind is not None else is_recording(path)


def _pattern(paths: Sequence[str]) -> str:
    """What names that differ in one plain number have in common, with {rank}; "" for others."""
    places = [list(_NUMBER.finditer(os.path.basename(path))) for path in paths]
    numbers = [[one[0] for one in each] for each in places]
    varying = [at for at, column in enumerate(zip(*numbers, strict=True)) if len({*column}) > 1]
    if len(varying) != 1 or any(str(int(one[varying[0]])) != one[varying[0]] for one in numbers):
        return ""
    folder, name = os.path.split(paths[0])
    start, end = places[0][varying[0]].span()
    return os.path.join(folder, f"{name[:start]}{_RANK}{name[end:]}")
