"""Ranks of Nsight Systems and rocprofv3 as linked traces, which `convert pytorch` understands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from yantra.base.errors import TraceError
from yantra.chakra.other_formats import found_in
from yantra.tracing.pytorch.kineto import KinetoTrace
from yantra.tracing.pytorch.link.join import link_alone
from yantra.tracing.pytorch.link.summary import warnings
from yantra.tracing.pytorch.linked import Linked
from yantra.tracing.sources import nsight, rocm
from yantra.tracing.sources.nccl import Members

KINDS = frozenset({"nsys", "rocpd", "rocprof"})
"""Keys of `other_formats` that are read here."""


def is_one(path: str) -> bool:
    """Whether `path` is of a profiler that is read here."""
    kind = found_in(path)
    return kind is not None and kind.key in KINDS


class LinkedJob:
    """The ranks of files of one job, files in the order given. Raises TraceError.

    `sizes`: bytes of collectives by kind whose size was not recorded.
    """

    def __init__(self, paths: Sequence[str], sizes: Mapping[str, int] | None = None) -> None:
        self.files: dict[int, str] = {}
        self.names: dict[int, str] = {}
        self.told: dict[int, list[str]] = {}
        self.waited_ns: Counter[str] = Counter()
        self._readers: list[Callable[[int], KinetoTrace]] = []
        members = Members()
        found: list[tuple[Any, Any]] = []
        for path in paths:
            kind = found_in(path)
            module: Any = nsight if kind is not None and kind.key == "nsys" else rocm
            found.append((module, module.survey(path)))
        ranks = 0
        for module, file in found:
            numbers = {one: ranks + place for place, one in enumerate(file.processes)}
            module.use_of(file, numbers, members)
            self.waited_ns.update(getattr(file, "waited_ns", {}))
            for one, rank in numbers.items():
                self.files[rank] = file.path
                self.names[rank] = f"process {one.pid}, device {one.device}"
                self._readers.append(partial(self._read, module, file, one, members))
            ranks += len(numbers)
        self.size = ranks
        members.given, members.world = dict(sizes or {}), list(range(ranks))
        self._members = members

    def sources(self) -> list[Callable[[], Linked]]:
        return [partial(self.linked, rank) for rank in range(self.size)]

    def linked(self, rank: int) -> Linked:
        linked = link_alone(self._readers[rank](rank), rank=rank)
        self.told[rank] = [f"rank {rank}: {text}" for text in warnings(linked.report)]
        return linked

    def problems(self) -> list[str]:
        told = [text for _, texts in sorted(self.told.items()) for text in texts]
        idle = self._members.given.keys() - self._members.lacking
        return told + [
            f"--sizes: no {kind} lacks its size, so {kind}={size} changes nothing"
            for kind, size in self._members.given.items()
            if kind in idle
        ]

    def check_one(self) -> None:
        """Raise TraceError if it has several ranks, of which none can stand for others."""
        if self.size > 1:
            raise TraceError(
                f"{self.files[0]}: holds {self.size} ranks, and one stands for all; convert it to "
                "one trace a rank instead, without --replicate"
            )

    def _read(self, module: Any, file: Any, one: Any, members: Members, rank: int) -> KinetoTrace:
        trace: KinetoTrace = module.read(file, one, rank, self.size, members)
        return trace


def link_one(path: str, rank: int | None = None) -> Linked:
    """Link the one rank of a file. Raises TraceError if it has several."""
    job = LinkedJob([path])
    if job.size > 1:
        raise TraceError(
            f"{path}: holds {job.size} ranks ({job.names[0]}, ...), and a linked trace has one; "
            f"convert them at once: yantra chakra convert profile {path} -o job"
        )
    linked = job.linked(0)
    linked.rank = linked.rank if rank is None else rank
    return linked
