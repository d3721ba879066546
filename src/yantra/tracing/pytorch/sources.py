"""What `convert` reads: a linked trace, or a host or device trace alone."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from yantra.base.errors import ConfigError, TraceError, UnsupportedError
from yantra.base.text import count
from yantra.tracing.pytorch import host, linked_file, ranks
from yantra.tracing.pytorch import kineto as device_traces
from yantra.tracing.pytorch.kinds import kind_of
from yantra.tracing.pytorch.kineto import KinetoTrace
from yantra.tracing.pytorch.link.join import link, link_alone, link_files
from yantra.tracing.pytorch.link.summary import warnings
from yantra.tracing.pytorch.linked import Linked
from yantra.tracing.pytorch.node_file import read_nodes


class _Mark(msgspec.Struct, gc=False):
    cat: Any = None
    host_id: int | None = None


class _IsLinkedError(Exception):
    """Ends the look at a file once its kind is known."""


class Recordings:
    """The traces of arguments, one per rank, and remarks.

    A rank not stated comes from the file's name, else its place. Host traces that are given
    together with device traces are linked to those of their ranks.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self.given, self.hosts = _paired(ranks.given(arguments))
        self.told: dict[str, list[str]] = {}
        self.by_rank: dict[int, str] = {}  # files, once read
        self._by_place: list[str] = []

    def sources(self) -> list[Callable[[], Linked]]:
        return [partial(self._load, place) for place in range(len(self.given))]

    def problems(self) -> list[str]:
        found = [text for texts in self.told.values() for text in texts]
        if len(self._by_place) > 1:
            found.append(ranks.in_order_given(self._by_place))
        return found

    def file_sizes(self) -> list[int]:
        """Bytes of each rank's file, 0 where there is none to read."""
        paths = [one.path for one in self.given]
        return [os.path.getsize(path) if os.path.isfile(path) else 0 for path in paths]

    def told_of(self, place: int) -> tuple[str, list[str], list[int], bool]:
        """What reading a file left here, for `take_told` of another process."""
        path = self.given[place].path
        by_rank = [rank for rank, one in self.by_rank.items() if one == path]
        return path, self.told.get(path, []), by_rank, path in self._by_place

    def take_told(self, told: tuple[str, list[str], list[int], bool]) -> None:
        path, said, by_rank, is_by_place = told
        if said:
            self.told[path] = said
        self.by_rank |= dict.fromkeys(by_rank, path)
        if is_by_place:
            self._by_place.append(path)

    def _load(self, place: int) -> Linked:
        one = self.given[place]
        rank = one.rank if one.rank is not None else place
        host = self.hosts.get(one.path)
        if host is None:
            linked = load(one.path, rank, self.told, self._unsaid)
        else:
            linked = link_files(host, one.path, unsaid=rank)
            self.told[one.path] = _said(linked)
        self.by_rank[linked.rank] = one.path
        return linked

    def _unsaid(self, path: str) -> None:
        named = {one.path: one.rank for one in self.given}
        if named[path] is None and path not in self._by_place:
            if not self._by_place:
                ranks.in_order_given([one.path for one in self.given if one.rank is None])
            self._by_place.append(path)


@contextmanager
def naming_files(files: Mapping[int, str]) -> Iterator[None]:
    """Errors in the block that name a rank also name its file; `files` are by rank."""
    try:
        yield
    except (TraceError, UnsupportedError) as error:
        rank = re.match(r"rank (\d+)\b", str(error))
        file = files.get(int(rank[1])) if rank else None
        if file is None:
            raise
        raise type(error)(f"{file}: {error}") from None


def load(
    path: str,
    rank: int = 0,
    told: dict[str, list[str]] | None = None,
    unsaid: Callable[[str], None] = lambda path: None,
) -> Linked:
    if device_traces.is_one(path):
        device = device_traces.read(path, shapes=True)
        if device.rank is None:
            unsaid(path)
        linked = link_alone(device, rank=rank if device.rank is None else None)
        if told is not None:
            told[path] = _said(linked)
        return linked
    by_upstream = False

    def look(nodes: list[_Mark]) -> None:
        nonlocal by_upstream
        if any(node.host_id is not None for node in nodes):
            raise _IsLinkedError
        by_upstream |= any(node.cat is not None for node in nodes)

    try:
        read_nodes(path, _Mark, look)
    except _IsLinkedError:
        return linked_file.read(path)
    if by_upstream:
        raise TraceError(
            f"{path}: linked by upstream Chakra, which does not keep who waits for whom; link the "
            "host trace and the device trace again with `yantra chakra link`, or convert with "
            "--compat upstream"
        )
    unsaid(path)
    return link(host.read(path), _no_device_trace(), rank=rank, where=path)


def _said(linked: Linked) -> list[str]:
    return [f"rank {linked.rank}: {text}" for text in warnings(linked.report)]


def _paired(given: list[ranks.Given]) -> tuple[list[ranks.Given], dict[str, str]]:
    """The traces, and the host traces of some by path. Raises ConfigError for odd ones."""
    if len(given) < 2:
        return given, {}
    kinds = [kind_of(one.path) for one in given]
    hosts = [one for one, kind in zip(given, kinds, strict=True) if kind == "host"]
    devices = [one for one, kind in zip(given, kinds, strict=True) if kind == "device"]
    if not hosts or not devices:
        return given, {}
    if len(hosts) != len(devices) or len(hosts) + len(devices) != len(given):
        raise ConfigError(
            hosts[0].path,
            f"is one of {count(len(hosts), 'host trace')}, beside "
            f"{count(len(devices), 'trace')} of the profiler and "
            f"{len(given) - len(hosts) - len(devices)} others; expected one of the profiler for "
            "each host trace, and nothing else",
        )
    by_rank = [_by_rank(some) for some in (devices, hosts)]
    if by_rank[0].keys() != by_rank[1].keys():
        raise ConfigError(hosts[0].path, "and the profiler's traces have other numbers of ranks")
    both = [(by_rank[0][rank], by_rank[1][rank]) for rank in sorted(by_rank[0])]
    found = [ranks.Given(device, rank) for rank, (device, _) in zip(by_rank[0], both, strict=True)]
    return found, dict(both)


def _by_rank(some: Sequence[ranks.Given]) -> dict[int, str]:
    paths = [one.path for one in some]
    named = ranks.of_names(paths)
    return dict(sorted(zip(range(len(paths)) if named is None else named, paths, strict=True)))


def _no_device_trace() -> KinetoTrace:
    return KinetoTrace(cpu=[], calls=[], device=[], syncs=[], forward=[], backward=[])
