"""Templates to plain files: one .et per rank, and the groups they name.

ASTRA-sim has one slot and no such metadata, so the ordering becomes dependencies, as an explicit
`ordering` always does. Equal files are encoded once; each appears whole or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from os import path as paths
from typing import TYPE_CHECKING, Any, Literal, get_args

from yantra.base.errors import ConfigError, expected_got
from yantra.base.output import make_folder, write_text
from yantra.chakra import files, heads

if TYPE_CHECKING:
    from yantra.workloads.templates.workload import Ordering, Workload

GROUPS = "comm_group.json"
_MOST_KEPT = 1024

Reader = Literal["yantra", "astra-sim"]
"""Who reads the traces."""


def expand(
    workload: Workload,
    folder: str | os.PathLike[str],
    ranks: Iterable[int] | None = None,
    ordering: Ordering | None = None,
    prefix: str = "workload",
    progress: Callable[[int, int], None] | None = None,
    reader: Reader = "yantra",
    name: Callable[[int], str] | None = None,
    groups: str = GROUPS,
) -> None:
    """Write the files of `ranks`, of all if None; see `Workload.expand`.

    `progress` is called with the ranks done and in all. `name` gives a rank's file in place of
    `prefix`; `groups` is the file of the groups.
    """
    wanted = range(workload.ranks) if ranks is None else sorted(set(ranks))
    for rank in (*wanted[:1], *wanted[-1:]):
        if not 0 <= rank < workload.ranks:
            raise ConfigError("ranks", f"expected 0 to {workload.ranks - 1}, got {rank}")
    if not prefix or paths.basename(prefix) != prefix:
        raise ConfigError("prefix", expected_got("the beginning of file names", prefix))
    if reader not in get_args(Reader):
        raise ConfigError("reader", expected_got(f"one of {', '.join(get_args(Reader))}", reader))
    stated: dict[str, str] = {}
    if reader == "yantra":
        stated = _stated(workload, ordering)
        ordering = ordering or "streams"
    make_folder(folder)
    known: dict[object, bytes] = {}
    for done, rank in enumerate(wanted):
        if progress:
            progress(done, len(wanted))
        content = _content(workload, rank, ordering, stated, known)
        file = f"{prefix}.{rank}.et" if name is None else name(rank)
        files.save(content, paths.join(folder, file))
    write_text(paths.join(folder, groups), groups_text(workload))


def groups_text(workload: Workload) -> str:
    lines = (
        f"{json.dumps(str(number))}: {json.dumps(list(members))}"
        for number, members in workload.communicators().items()
    )
    return "{" + ",\n ".join(lines) + "}\n"


def parse_ranks(text: str, ranks: int, where: str = "ranks") -> list[int]:
    read: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not _is_number(first) or (dash and not _is_number(last)):
            raise ConfigError(where, expected_got("ranks such as 0,7-15", text))
        low, high = int(first), int(last or first)
        if high < low:
            raise ConfigError(where, f"{part.strip()} runs backwards")
        if high >= ranks:
            raise ConfigError(where, f"expected 0 to {ranks - 1}, got {high}")
        read += range(low, high + 1)
    return read


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


def _stated(workload: Workload, ordering: Ordering | None) -> dict[str, str]:
    stated: dict[str, str] = {heads.ORDERING: ordering or workload.ordering}
    dtype, framework = workload.dtype, workload.framework
    stated |= {heads.DTYPE: dtype} if dtype else {}
    stated |= {heads.FRAMEWORK: framework} if framework else {}
    return stated | ({heads.EXPERTS: str(workload.experts)} if workload.experts else {})


def _content(
    workload: Workload,
    rank: int,
    ordering: Ordering | None,
    stated: dict[str, Any],
    known: dict[object, bytes],
) -> bytes:
    template = workload.class_of(rank).template
    meaning = workload.meaning(rank)
    own = rank if meaning.peers else None  # only sends and receives name their rank
    key = (template, own, tuple(meaning.groups.values()))
    if key not in known:
        if len(known) >= _MOST_KEPT:
            known.clear()
        made = workload.trace(rank, ordering).to_bytes()
        known[key] = heads.with_stated(made, **stated) if stated else made
    return known[key]
