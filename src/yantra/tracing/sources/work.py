"""What ran on a rank's devices, and its Chakra trace.

Times are picoseconds. A replay starts each node in the recorded nanosecond: time that no dependency
explains becomes a delay node, as `convert pytorch` makes them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from yantra import _core
from yantra.base.errors import TraceError
from yantra.chakra.schema import CollectiveType, Kind, NodeType
from yantra.chakra.trace import Trace

DELAY = "delay"
COMMUNICATES = "communication"
"""Attribute of a computation that communicates: its kind, as far as named."""
_PS = 1000  # in a ns
_NS = 1000  # in a us
_MOST = 1 << 62
_PIECE = 4096  # works
_NO_METADATA = b"\0"  # a trace begins with its metadata: an empty message's length


_NOTHING: Mapping[str, str | int] = {}


class Part(Struct):
    """One communication of a `Work`: a collective of `size` bytes, or a message with `peer`."""

    type: NodeType
    size: int
    communicator: int = 0
    collective: CollectiveType | None = None
    peer: int = 0
    tag: int = 0


class Work(Struct, gc=False):
    """An operation; `deps` are places of earlier ones of the same rank.

    Without `parts` a computation of `flops` (None: unknown) that moves `bytes`. `communicates`:
    the kind of communication whose size or members are unknown.
    """

    name: str
    start_ps: int
    end_ps: int
    stream: int = 0
    device: int = 0
    deps: tuple[int, ...] = ()
    flops: int | None = None
    bytes: int | None = None
    parts: tuple[Part, ...] = ()
    communicates: str = ""
    attributes: Mapping[str, str | int] = _NOTHING  # shared by works of one name
    timed: bool = True  # False: a wait, which takes as long as what it waits for

    @property
    def start_ns(self) -> int:
        return self.start_ps // _PS

    @property
    def dur_ns(self) -> int:
        return (self.end_ps - self.start_ps) // _PS if self.timed else 0


class Writing:
    """A rank's .et file in pieces; when these are taken, its nodes, and its time without work."""

    def __init__(
        self,
        works: Sequence[Work],
        origin_ps: int,
        about: dict[str, Any],
        *,
        gaps: bool = True,
        ordered: bool = True,
    ) -> None:
        """`works` by start, or behind what they wait for; `origin_ps` is when the job begins.

        `ordered`: their dependencies are all that holds them back.
        """
        self._writer = _Writer(works, origin_ps // _PS, gaps, ordered)
        self._about = about
        self.idle_ns = idle(works, origin_ps) if gaps else 0

    def pieces(self) -> Iterator[bytes]:
        """The file, never whole in memory. Raises TraceError for what cannot be."""
        pieces = self._writer.run(self._about)
        yield next(pieces).to_bytes()
        for piece in pieces:
            yield piece.to_bytes().removeprefix(_NO_METADATA)

    @property
    def nodes(self) -> int:
        return self._writer.next

    @property
    def delays(self) -> int:
        return self._writer.delays

    def trace(self) -> Trace:
        """The whole trace."""
        return Trace.from_bytes(b"".join(self.pieces()))


def idle(works: Sequence[Work], origin_ps: int) -> int:
    """The ns from `origin_ps` to the last end in which none of the works, by start, runs."""
    total, until = 0, origin_ps
    for work in works:
        total += max(0, work.start_ps - until)
        until = max(until, work.end_ps)
    return total // _PS


class _Writer:
    def __init__(self, works: Sequence[Work], origin_ns: int, gaps: bool, ordered: bool) -> None:
        self.ordered = ordered
        self.works = works
        self.origin = origin_ns
        self.gaps = gaps
        self.recorder = _core.TraceRecorder()
        self.firsts = array("q")  # the first node of each work
        self.counts = array("B")
        self.ends = array("q")  # of each work in a replay, in ns
        self.next = self.delays = 0

    def run(self, about: dict[str, Any]) -> Iterator[Trace]:
        for name, value in about.items():
            is_text = isinstance(value, str)
            self.recorder.attribute(name, Kind.STRING if is_text else Kind.INT64, value, "")
        self._put("complete_order", Kind.BOOL, self.ordered)
        self.recorder.end_metadata("")
        for place, work in enumerate(self.works, start=1):
            self._work(work)
            if place % _PIECE == 0:
                yield Trace.from_native(self.recorder.finish())
                self.recorder.end_metadata("")
        yield Trace.from_native(self.recorder.finish())

    def _work(self, work: Work) -> None:
        start = work.start_ns - self.origin
        for value in (start + work.dur_ns, work.flops, work.bytes, *(p.size for p in work.parts)):
            if value is not None and not 0 <= value < _MOST:
                raise TraceError(
                    f"{work.name}: {value} is no time, size or number of FLOPs; expected 0 to 2^62"
                    "; the profile is damaged, copy it again"
                )
        deps = [
            self.firsts[place] + part for place in work.deps for part in range(self.counts[place])
        ]
        ready = max((self.ends[place] for place in work.deps), default=0)
        if start > ready and self.gaps:
            deps = [self._delay(work, ready, start, deps)]
        begin = max(start, ready)
        self.ends.append(begin + work.dur_ns)
        self.firsts.append(self.next)
        for place, part in enumerate(work.parts or (None,)):
            self._node(work, part, begin, deps, is_first=not place)
        self.counts.append(self.next - self.firsts[-1])

    def _delay(self, work: Work, ready: int, start: int, deps: list[int]) -> int:
        self._put("is_cpu_op", Kind.BOOL, False)
        self._put("part", Kind.STRING, DELAY)
        self._times(ready, start - ready)
        self._put("stream", Kind.INT64, work.stream)
        self.delays += 1
        return self._end(DELAY, NodeType.COMP, ready, start - ready, deps)

    def _node(
        self, work: Work, part: Part | None, start: int, deps: list[int], *, is_first: bool
    ) -> None:
        duration = work.dur_ns if is_first else 0
        self._put("is_cpu_op", Kind.BOOL, False)
        type = NodeType.COMP
        if part is None:
            self._put_int("num_ops", work.flops)
            if work.bytes is not None:
                self._put("tensor_size", Kind.UINT64, work.bytes)
            if work.communicates:
                self._put(COMMUNICATES, Kind.STRING, work.communicates)
        else:
            type = part.type
            self._part(part)
        self._times(start, duration)
        lost = (work.end_ps - work.start_ps) % _PS
        if lost and work.timed and is_first:
            self._put("duration_remainder_ps", Kind.INT64, lost)
        self._put("stream", Kind.INT64, work.stream)
        self._put("device", Kind.INT64, work.device)
        for name, value in work.attributes.items():
            self._put(name, _kind_of(value), value)
        self._end(work.name, type, start, duration, deps)

    def _part(self, part: Part) -> None:
        if part.collective is not None:
            self._put("comm_type", Kind.INT64, int(part.collective))
            self._put("comm_size", Kind.INT64, part.size)
        else:
            is_send = part.type is NodeType.COMM_SEND
            self._put("comm_size", Kind.INT64, part.size)
            self._put("comm_dst" if is_send else "comm_src", Kind.INT32, part.peer)
            self._put("comm_tag", Kind.INT32, part.tag)
        self._put("pg_name", Kind.STRING, str(part.communicator))

    def _times(self, start: int, duration: int) -> None:
        self._put("start_time_ns", Kind.INT64, start)
        self._put("duration_ns", Kind.INT64, duration)

    def _end(self, name: str, type: NodeType, start: int, duration: int, deps: list[int]) -> int:
        # Whole us of equal instants are equal, so that they add up to the whole.
        micros = (start + duration) // _NS - start // _NS
        self.recorder.node(self.next, name, type, start // _NS, micros, deps, [])
        self.next += 1
        return self.next - 1

    def _put(self, name: str, kind: Kind, value: Any) -> None:
        self.recorder.attribute(name, kind, value, "")

    def _put_int(self, name: str, value: int | None) -> None:
        if value is not None:
            self._put(name, Kind.INT64, value)


def _kind_of(value: str | int) -> Kind:
    """How an attribute is written: numbers of programs on TPUs are fingerprints of 64 bits."""
    if isinstance(value, str):
        return Kind.STRING
    return Kind.INT64 if value < 1 << 63 else Kind.UINT64
