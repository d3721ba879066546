"""The traces that a suite is chosen from: of a folder, or of the library without its data."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.library.features import Part, Reach, features, of_workload
from yantra.library.manifest import manifest

_RANKED = re.compile(r"(.+)\.(\d+)\.et(\.gz)?")
_WORKLOAD = ".yw"
Progress = Callable[[int, int], None]


class Given(NamedTuple):
    """A trace to choose: `file` is a workload or a pattern with {rank}, "" where the library makes
    it; `digest` is of its content."""

    name: str
    file: str
    digest: str
    features: Mapping[str, float]


def of_library() -> list[Given]:
    """The recipes that nothing is recorded for."""
    rows = manifest().values()
    return [Given(row.name, "", row.digest, row.features) for row in rows if row.makes != "record"]


def in_folder(folder: str, progress: Progress | None = None) -> list[Given]:
    """Workloads (.yw) and jobs of traces (NAME.{rank}.et) of a folder and those in it, by name.

    Raises ConfigError where there are none.
    """
    found = sorted(_files(folder).items())
    if not found:
        problem = "no workloads (.yw) and no traces (NAME.0.et) in it"
        raise ConfigError(folder, f"{problem}; yantra library build -o {folder} writes some")
    given = []
    for done, (file, ranks) in enumerate(found, 1):
        given.append(_read(os.path.relpath(file, folder), file, ranks))
        if progress is not None:
            progress(done, len(found))
    return given


def _files(folder: str) -> dict[str, list[int]]:
    """Workloads and patterns, with the ranks of these."""
    if not os.path.isdir(folder):
        raise ConfigError(folder, "no such folder")
    found: dict[str, list[int]] = {}
    for where, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".")]
        for name in names:
            if name.endswith(_WORKLOAD):
                found[os.path.join(where, name)] = []
            elif match := _RANKED.fullmatch(name):
                pattern = f"{match[1]}.{{rank}}.et{match[3] or ''}"
                found.setdefault(os.path.join(where, pattern), []).append(int(match[2]))
    return found


def _read(name: str, file: str, ranks: list[int]) -> Given:
    if not ranks:
        from yantra.workloads.templates import load

        with open(file, "rb") as content:
            digest = sha256(content.read()).hexdigest()
        return Given(name.removesuffix(_WORKLOAD), file, digest, of_workload(load(file)))
    from yantra.chakra.trace import read
    from yantra.tracing.inspect.columns import Columns
    from yantra.tracing.inspect.stats.job import communicators

    if sorted(ranks) != list(range(len(ranks))):
        raise ConfigError(file, f"expected the traces of ranks 0 to {max(ranks)}")
    traces = {rank: read(file.replace("{rank}", str(rank))) for rank in sorted(ranks)}
    columns = {rank: Columns(trace) for rank, trace in traces.items()}
    groups = {key: Reach(len(members), max(members) - min(members) + 1)
              for key, members in communicators(columns, None).items() if members}  # fmt: skip
    parts = [Part(one, 1, groups) for one in columns.values()]
    whole = sha256(b"".join(sha256(trace.to_bytes()).digest() for trace in traces.values()))
    short = name.replace(".{rank}", "").removesuffix(".gz").removesuffix(".et")
    return Given(short, file, whole.hexdigest(), features(parts, len(ranks), 0))
