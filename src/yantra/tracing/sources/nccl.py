"""Calls of NCCL and RCCL that a profiler recorded, as the arguments of PyTorch's own traces.

Source: nccl.h; sizes in NCCL's NVTX payloads are those of the count argument.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct, structs

from yantra.base.errors import ConfigError, expected_got
from yantra.base.units import parse
from yantra.tracing.pytorch.events import Args, Event

RECORD = "record_param_comms"  # what the linker knows as a call
_MESSAGES = {"send": "dst", "recv": "src"}
COALESCED = "coalesced"
_BYTE = "Byte"
_MOST = 1 << 60  # bytes
_GIVEN = "given"  # communicator of calls of which only the size was given
# Counts are those of one member.
_GIVES_ALL = frozenset({"reducescatter", "scatter", "alltoall"})
_GETS_ALL = frozenset({"allgather", "gather", "alltoall"})
_KINDS = frozenset(
    {"allreduce", "allgather", "reducescatter", "broadcast", "bcast", "reduce", "alltoall"}
    | {"gather", "scatter", "send", "recv"}
)


class NcclCall(Struct, gc=False):
    """A call: `kind` in lower case, `comm` its communicator, `size` in bytes, None if unknown."""

    kind: str
    start: int
    end: int
    comm: str = ""
    size: int | None = None
    peer: int | None = None


class Members:
    """Who is in a communicator: from calls that make it, else those seen to use it.

    `given`: bytes by kind of calls whose size was not recorded; they are of all ranks (`world`).
    """

    def __init__(self) -> None:
        self.users: defaultdict[str, set[int]] = defaultdict(set)
        self.named: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self.sizes: dict[str, int] = {}
        self.given: dict[str, int] = {}
        self.lacking: set[str] = set()  # of these, kinds of calls that took theirs
        self.world: list[int] = []

    def use(self, comm: str, rank: int) -> None:
        self.users[comm].add(rank)

    def make(self, comm: str, size: int, place: int, rank: int) -> None:
        """`rank` is member `place` of `size`."""
        self.sizes[comm] = size
        self.named[comm][place] = rank

    def completed(self, call: NcclCall) -> NcclCall:
        """The call with the size that was given for its kind, if none was recorded."""
        if call.size is not None or call.kind not in self.given:
            return call
        self.lacking.add(call.kind)
        return structs.replace(call, size=self.given[call.kind], comm=call.comm or _GIVEN)

    def of(self, comm: str) -> list[int]:
        if comm == _GIVEN:
            return self.world
        named, size = self.named.get(comm, {}), self.sizes.get(comm, 0)
        if size and sorted(named) == list(range(size)):
            return [named[place] for place in range(size)]
        return sorted(self.users.get(comm, ()))


def given_sizes(texts: Iterable[str]) -> dict[str, int]:
    """Bytes by kind of `all_reduce=64MiB`. Raises ConfigError."""
    found = {}
    for text in texts:
        name, _, size = text.partition("=")
        kind = name.lower().replace("_", "").replace("-", "")
        if kind not in _KINDS or kind in _MESSAGES:
            expected = "KIND=SIZE, such as all_reduce=64MiB"
            raise ConfigError("--sizes", expected_got(expected, text))
        if kind in found:
            raise ConfigError("--sizes", f"{name}: given twice")
        found[kind] = round(parse(size, "size", "B", "--sizes"))
        if not 0 < found[kind] < _MOST:
            raise ConfigError("--sizes", expected_got("a size of 1 B to 1 EiB", text))
    return found


def kind_of(name: str) -> str:
    """`ncclAllReduce` -> allreduce; "" for calls that move nothing."""
    plain = name.removeprefix("p").removeprefix("nccl").removeprefix("rccl")
    plain = plain.lower().replace("_", "")
    return plain if plain in _KINDS and plain != name.lower() else ""


def arguments(calls: list[NcclCall], members: Members) -> Args | None:
    """What a kernel that `calls` launched says of itself, None if it cannot be told."""
    if not calls:
        return None
    calls = [members.completed(call) for call in calls]
    known = all(call.size is not None and call.comm for call in calls)
    if len({call.comm for call in calls}) > 1 or not known:
        return None
    call = calls[0]
    if all(one.kind in _MESSAGES for one in calls):
        return Args(collective=COALESCED, group_name=call.comm)
    if any(one.kind != call.kind for one in calls):
        return None
    ranks = members.of(call.comm)
    size = sum(one.size or 0 for one in calls)
    return Args(
        collective="broadcast" if call.kind == "bcast" else call.kind,
        in_nelems=size * len(ranks) if call.kind in _GIVES_ALL else size,
        out_nelems=size * len(ranks) if call.kind in _GETS_ALL else size,
        dtype=_BYTE,
        group_name=call.comm,
        group_size=len(ranks),
        group_ranks=ranks,
    )


def records(calls: Iterable[NcclCall], like: Event, members: Members) -> list[Event]:
    """Records of the messages in a group, for the linker, with the thread of `like`."""
    found = []
    for call in calls:
        ranks = members.of(call.comm)
        if call.kind not in _MESSAGES or call.size is None:
            continue
        is_send = call.kind == "send"
        args = Args(
            collective=call.kind,
            in_nelems=call.size,
            out_nelems=call.size,
            dtype=_BYTE,
            group_name=call.comm,
            group_size=len(ranks),
            group_ranks=ranks,
            dst_rank=call.peer if is_send else None,
            src_rank=None if is_send else call.peer,
        )
        found.append(range_event(RECORD, call.start, call.end, like, args))
    return found


def range_event(name: str, start: int, end: int, like: Event, args: Args | None = None) -> Event:
    """A range on the thread of `like`."""
    return Event(
        ph="X", cat="cpu_op", name=name, pid=like.pid, tid=like.tid, args=args, start=start, end=end
    )
