"""A job of works without planes or programs, and what makes its messages meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from yantra.base.text import count
from yantra.chakra.heads import COMPUTE
from yantra.chakra.schema import NodeType
from yantra.tracing.sources.report import ProfileReport
from yantra.tracing.sources.work import Part, Work, Writing

Take = Callable[[int, Writing], None]


class ScheduledJob:
    """Ranks' works; `timed`: in their recorded order, which nothing else holds back."""

    def __init__(self, source: str, works: Sequence[list[Work]], *, timed: bool) -> None:
        self.report = ProfileReport(source=source)
        self.works = works
        self.world_size = len(works)
        self.timed = timed
        self._match()

    def convert(self, take: Take, *, gaps: bool = True) -> ProfileReport:
        """Pass every rank's trace to `take`; nothing is unexplained, so `gaps` has no effect."""
        report = self.report
        starts = [work.start_ps for works in self.works for work in works]
        ends = [work.end_ps for works in self.works for work in works]
        origin = min(starts, default=0)
        report.span_ns = (max(ends, default=0) - origin) // 1000 if self.timed else 0
        for rank, works in enumerate(self.works):
            about: dict[str, Any] = {
                "schema": "1.1.1-chakra.0.0.4",
                "rank": rank,
                "world_size": self.world_size,
            }
            if not self.timed:
                about[COMPUTE] = "recorded"
            made = Writing(works, origin, about, gaps=False, ordered=self.timed)
            take(rank, made)
            report.ranks += 1
            report.nodes += made.nodes
            for work in works:
                self._count(work)
        return report

    def groups(self) -> str:
        """All collectives are of all ranks."""
        return ""

    def _count(self, work: Work) -> None:
        report = self.report
        if not work.parts:
            report.kernels += 1
        for part in work.parts:
            report.sends += part.type is NodeType.COMM_SEND
            report.receives += part.type is NodeType.COMM_RECV
            if part.collective is not None:
                report.collectives[part.collective.name.lower()] += 1

    def _match(self) -> None:
        """Messages without their other end, by rank, peer, tag and bytes, become computations."""
        ends: dict[NodeType, Counter[tuple[int, int, int, int]]] = {
            NodeType.COMM_SEND: Counter(),
            NodeType.COMM_RECV: Counter(),
        }
        parts = [
            (rank, work, part)
            for rank, works in enumerate(self.works)
            for work in works
            for part in work.parts
            if part.collective is None
        ]
        for rank, _, part in parts:
            ends[part.type][_lane(rank, part)] += 1
        pairs = ends[NodeType.COMM_SEND] & ends[NodeType.COMM_RECV]
        left = {type: pairs.copy() for type in ends}
        lonely = 0
        for rank, work, part in parts:
            lane = _lane(rank, part)
            if left[part.type][lane]:
                left[part.type][lane] -= 1
            else:
                work.parts, lonely = (), lonely + 1
                work.communicates = "message"
        if lonely:
            self.report.unknown["message"] += lonely
            self.report.problems.append(
                f"{count(lonely, 'message')} without the other end of the same size and tag; kept "
                "as computations of the recorded duration"
            )


def _lane(rank: int, part: Part) -> tuple[int, int, int, int]:
    ends = (rank, part.peer) if part.type is NodeType.COMM_SEND else (part.peer, rank)
    return (*ends, part.tag, part.size)
