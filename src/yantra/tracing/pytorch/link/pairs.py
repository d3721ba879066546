"""The trace files of a job's ranks, named one by one or by a pattern."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from yantra.base.errors import ConfigError

RANK = "{rank}"


class Pair(NamedTuple):
    """Files of one rank; `rank` None: only the traces know. `host` may be None."""

    host: str | None
    device: str
    rank: int | None


def pairs(hosts: Sequence[str], devices: Sequence[str], rank: int | None) -> list[Pair]:
    """The files to link; `hosts` may be empty."""
    patterns = [path for path in (*hosts, *devices) if RANK in path]
    if patterns:
        if len(hosts) > 1 or len(devices) != 1 or len(patterns) != len(hosts) + 1:
            raise ConfigError(
                "--host, --device", f"a pattern with {RANK} must be given once for each of them"
            )
        if rank is not None:
            raise ConfigError("--rank", f"the ranks come from {RANK} in the file names")
        return _by_pattern(hosts[0] if hosts else None, devices[0])
    if hosts and len(hosts) != len(devices):
        raise ConfigError(
            "--host, --device",
            f"{len(hosts)} host traces and {len(devices)} device traces; expected as many of each",
        )
    if len(devices) > 1 and rank is not None:
        raise ConfigError("--rank", "is for one pair of traces; several name their own ranks")
    partners: Sequence[str | None] = hosts or [None] * len(devices)
    return [Pair(*both, rank) for both in zip(partners, devices, strict=True)]


def _by_pattern(host: str | None, device: str) -> list[Pair]:
    devices = _files(device)
    if host is None:
        if not devices:
            raise ConfigError("--device", f"no file is named like {device}")
        return [Pair(None, devices[rank], rank) for rank in sorted(devices)]
    hosts = _files(host)
    if not hosts:
        raise ConfigError("--host", f"no file is named like {host}")
    missing = sorted(hosts.keys() ^ devices.keys())
    if missing:
        lacking = "--host" if missing[0] in devices else "--device"
        raise ConfigError(lacking, f"has no trace of rank {missing[0]}, which the other has")
    return [Pair(hosts[rank], devices[rank], rank) for rank in sorted(hosts)]


def by_rank(pattern: str) -> dict[int, str]:
    """Files that match a pattern, by rank. Raises ConfigError if none."""
    found = _files(pattern)
    if not found:
        raise ConfigError(pattern, "no file has a name of this form")
    return found


def _files(pattern: str) -> dict[int, str]:
    folder, name = os.path.split(pattern)
    if RANK in folder or name.count(RANK) != 1:
        raise ConfigError(pattern, f"expected {RANK} once, in the file's name")
    before, after = name.split(RANK)
    form = re.compile(re.escape(before) + r"(\d+)" + re.escape(after))
    try:
        names = os.listdir(folder or ".")
    except OSError as error:
        raise ConfigError(pattern, f"cannot be listed: {error.strerror}") from None
    found = ((form.fullmatch(name), os.path.join(folder, name)) for name in sorted(names))
    return {int(match[1]): path for match, path in found if match}


def output_name(output: str, pair: Pair, rank: int, several: bool) -> str:
    if RANK in output:
        return output.replace(RANK, str(rank))
    if several:
        raise ConfigError("-o", f"several traces are written; give a name with {RANK}")
    return output
