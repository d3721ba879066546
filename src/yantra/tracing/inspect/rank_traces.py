"""A job's trace files: finding and reading them by rank."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.chakra import files
from yantra.chakra.trace import Trace

_PLACE = "{rank}"
_RANK = re.compile(r"(?:^|[._-])([0-9]{1,9})(?:\.et)?(?:\.gz)?$")


class TraceFile(NamedTuple):
    rank: int
    path: str


class RankTrace(NamedTuple):
    """A rank's trace; equal files share the `trace` object."""

    rank: int
    path: str
    trace: Trace


def find_traces(arguments: Sequence[str | os.PathLike[str]]) -> list[TraceFile]:
    """A job's files by ascending rank.

    Arguments: files, or patterns with `{rank}` in the last part (`job.{rank}.et`). The rank is the
    number at the name's end, before `.et` and `.gz`; if no file has one, 0, 1, ... as given. Raises
    ConfigError when two files claim a rank or only some have a number.
    """
    paths: list[str] = []
    ranks: list[int | None] = []
    for given in arguments:
        argument = os.fspath(given)
        found = _matching(argument) if _PLACE in argument else [(_rank_of(argument), argument)]
        ranks += [rank for rank, _ in found]
        paths += [path for _, path in found]
    if all(rank is None for rank in ranks):
        return [TraceFile(rank, path) for rank, path in enumerate(paths)]
    by_rank: dict[int, str] = {}
    for rank, path in zip(ranks, paths, strict=True):
        if rank is None:
            raise ConfigError(path, "its name says no rank, as others do; name it <prefix>.N.et")
        if rank in by_rank:
            problem = f"is rank {rank}'s by its name, but so is {by_rank[rank]}"
            raise ConfigError(path, f"{problem}; give the files of one job")
        by_rank[rank] = path
    return [TraceFile(rank, by_rank[rank]) for rank in sorted(by_rank)]


def load_job(arguments: Sequence[str | os.PathLike[str]]) -> list[RankTrace]:
    known: dict[bytes, Trace] = {}
    job = []
    for rank, path in find_traces(arguments):
        content = files.load(path)
        digest = sha256(content).digest()
        if digest not in known:
            known[digest] = Trace.from_bytes(content, path)
        job.append(RankTrace(rank, path, known[digest]))
    return job


def rank_path(pattern: str, rank: int) -> str:
    return pattern.replace(_PLACE, str(rank))


def _rank_of(path: str) -> int | None:
    match = _RANK.search(os.path.basename(path))
    return int(match[1]) if match else None


def _matching(pattern: str) -> list[tuple[int | None, str]]:
    folder, name = os.path.split(pattern)
    if name.count(_PLACE) != 1 or _PLACE in folder:
        raise ConfigError(pattern, "expected {rank} once, in the file's name")
    before, after = (re.escape(part) for part in name.split(_PLACE))
    shape = re.compile(f"{before}(0|[1-9][0-9]{{0,8}}){after}")
    try:
        names = os.listdir(folder or ".")
    except OSError as error:
        raise ConfigError(pattern, f"cannot look into {folder}: {error.strerror}") from None
    found = [(int(match[1]), entry) for entry in names if (match := shape.fullmatch(entry))]
    if not found:
        raise ConfigError(pattern, "no file has a name of this form")
    return [(rank, os.path.join(folder, entry)) for rank, entry in sorted(found)]
