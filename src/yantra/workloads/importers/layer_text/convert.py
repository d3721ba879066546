"""Writes a text workload's traces, one per rank, and the group file where needed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from yantra.base.documents import Path
from yantra.base.errors import ConfigError, expected_got
from yantra.base.output import write_text
from yantra.chakra import files
from yantra.workloads.importers.layer_text import parse
from yantra.workloads.importers.layer_text.loops import (
    Settings,
    TimeUnit,
    Updates,
    not_issued,
    trace,
)
from yantra.workloads.importers.layer_text.split import Split


class Converted(NamedTuple):
    """What was written: traces by rank, the group file if any, nodes per trace, notes."""

    traces: tuple[str, ...]
    groups: str | None
    nodes: int
    notes: tuple[str, ...]


def convert(
    source: Path,
    prefix: Path,
    ranks: int | None = None,
    *,
    passes: int = 1,
    dims: Sequence[int] | None = None,
    as_groups: bool = False,
    time_unit: TimeUnit = "us",
    updates: Updates = "delay",
    blocking_gradients: bool = False,
) -> Converted:
    """Write `prefix`.RANK.et for every rank, as ASTRA-sim 1.0 would run the workload `source`.

    `dims` are the network's dimensions, innermost first, and may replace `ranks`. `as_groups`
    writes groups also for whole dimensions. The file's times are in `time_unit`; traces hold whole
    microseconds. An update occupies by `updates` nothing that computes (`delay`), the device
    (`compute`), or no time (`none`). `blocking_gradients` makes transformers wait for input
    gradients before weight gradients, as ASTRA-sim 1.0 did until 2023. Raises ConfigError.
    """
    ranks = _ranks(ranks, dims)
    if passes < 1:
        raise ConfigError("passes", expected_got("at least 1", passes))
    workload = parse.read(source)
    split = Split(workload, ranks, dims, as_groups=as_groups)
    settings = Settings(passes, time_unit, updates, blocking_gradients)
    name = os.fspath(prefix)
    make_folder(name)
    first = trace(workload, split, 0, settings)
    data = first.to_bytes()
    for rank in range(ranks):
        if rank and split.groups:
            data = trace(workload, split, rank, settings).to_bytes()
        files.save(data, f"{name}.{rank}.et")
    groups = f"{name}.groups.json" if split.groups else None
    if groups:
        _write_groups(split, groups)
    return Converted(
        tuple(f"{name}.{rank}.et" for rank in range(ranks)),
        groups,
        len(first),
        tuple(not_issued(workload, split)),
    )


def parse_dims(text: str) -> tuple[int, ...]:
    """Read dimensions such as `8x8x4`, innermost first."""
    words = text.split("x")
    if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        raise ConfigError("dims", expected_got("sizes such as 8x8x4", text))
    return tuple(int(word) for word in words)


def _ranks(ranks: int | None, dims: Sequence[int] | None) -> int:
    for size in dims or ():
        if size < 1:
            raise ConfigError("dims", expected_got("sizes of at least 1", size))
    if ranks is None:
        if not dims:
            raise ConfigError("ranks", "give the number of ranks, or the network's dims")
        ranks = 1
        for size in dims:
            ranks *= size
    if ranks < 1:
        raise ConfigError("ranks", expected_got("at least 1", ranks))
    return ranks


def make_folder(prefix: str) -> None:
    folder = os.path.dirname(prefix)
    if folder:
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise ConfigError(folder, f"cannot be made: {error.strerror or error}") from None


def _write_groups(split: Split, path: str) -> None:
    import json

    lines = ",\n".join(f' "{number}": {json.dumps(members)}' for number, members in split.groups)
    write_text(path, "{\n" + lines + "\n}\n")
