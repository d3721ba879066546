"""What `convert` reads: a linked trace, or a host or device trace alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from yantra.base.errors import TraceError, UnsupportedError
from yantra.tracing.pytorch import host, linked_file, ranks
from yantra.tracing.pytorch import kineto as device_traces
from yantra.tracing.pytorch.kineto import KinetoTrace
from yantra.tracing.pytorch.link.join import link, link_alone
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

    A rank not stated comes from the file's name, else its place.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self.given = ranks.given(arguments)
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

    def _load(self, place: int) -> Linked:
        one = self.given[place]
        rank = one.rank if one.rank is not None else place
        linked = load(one.path, rank, self.told, self._unsaid)
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
    """Read one rank's trace; `rank` is for traces that state none.

    Device traces are linked here; `told` takes, by path, what a user should know. `unsaid` is
    called where `rank` is used. Raises TraceError.
    """
    if device_traces.is_one(path):
        device = device_traces.read(path, shapes=True)
        if device.rank is None:
            unsaid(path)
        linked = link_alone(device, rank=rank if device.rank is None else None)
        if told is not None:
            said = warnings(linked.report)
            told[path] = [f"rank {linked.rank}: {text}" for text in said]
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


def _no_device_trace() -> KinetoTrace:
    return KinetoTrace(cpu=[], calls=[], device=[], syncs=[], forward=[], backward=[])
