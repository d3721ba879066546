"""NCCL's ranges in NVTX: which calls, on which thread, of what size, if payloads were exported.

A payload begins behind a header of four u64 (domain, schema, size, where it begins); entries count
from the payload.

Source: NCCL's NVTX schemas; the tables NVTX_PAYLOAD_* of files of 2025 and 2026.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from yantra.tracing.sources.nccl import Members, NcclCall, kind_of
from yantra.tracing.sources.tables import Tables, whole

_HEADER = struct.Struct("<4Q")
_DOMAIN = 75
_SIZES = {18: 8, 22: 8, 5: 4, 16777232: 4, 17: 8, 6: 4}
_COMM, _BYTES, _PEER = "NCCL communicator ID", "Message size", "Peer rank"
_RANKS, _RANK = "No. of ranks", "Rank"


class _Made(NamedTuple):
    pid: int
    comm: str
    size: int
    place: int


class Calls:
    """Calls and groups by process and thread."""

    def __init__(self) -> None:
        self.calls: defaultdict[tuple[int, int], list[NcclCall]] = defaultdict(list)
        self.groups: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        self.made: list[_Made] = []

    def settle(self) -> None:
        for calls in self.calls.values():
            calls.sort(key=_start)
        for groups in self.groups.values():
            groups.sort()

    def around(self, pid: int, tid: int, time: int) -> list[NcclCall]:
        """The calls of the group, or the one call, that encloses `time`."""
        calls = self.calls.get((pid, tid), [])
        span = self._group(pid, tid, time)
        if span is None:
            at = bisect_right(calls, time, key=_start)
            return [call for call in calls[max(0, at - 1) : at] if call.end >= time]
        first = bisect_left(calls, span[0], key=_start)
        return calls[first : bisect_right(calls, span[1], key=_start)]

    def _group(self, pid: int, tid: int, time: int) -> tuple[int, int] | None:
        groups = self.groups.get((pid, tid), [])
        at = bisect_right(groups, time, key=lambda span: span[0]) - 1
        return groups[at] if at >= 0 and groups[at][1] >= time else None

    def tell(self, members: Members, ranks: Mapping[int, Sequence[int]]) -> None:
        for made in self.made:
            if len(ranks.get(made.pid, ())) == 1:
                members.make(made.comm, made.size, made.place, ranks[made.pid][0])
        for (pid, _), calls in self.calls.items():
            for comm in {call.comm for call in calls if call.comm}:
                for rank in ranks.get(pid, ()):
                    members.use(comm, rank)


def calls_of(base: Tables) -> Calls:
    """Read the ranges of the domain NCCL."""
    found = Calls()
    texts: dict[int, str] = {}
    domains = set()
    of_domains = f"WHERE eventType = {_DOMAIN}"
    for text, id, domain in base.rows("NVTX_EVENTS", ("text", "textId", "domainId"), of_domains):
        if str(text or "") == "NCCL" or whole(id) in _ids_of(base, texts, "NCCL"):
            domains.add(whole(domain))
    if not domains:
        return found
    entries = _entries(base)
    columns = ("start", "end", "globalTid", "text", "textId", "domainId", "binaryData")
    where = f"WHERE eventType = 59 AND domainId IN ({', '.join(map(str, sorted(domains)))})"
    for start, end, thread, text, id, _, data in base.timed("NVTX_EVENTS", columns, where):
        name = str(text or _text(base, texts, whole(id)))
        key = (whole(thread) >> 24) & 0xFFFFFF, whole(thread) & 0xFFFFFF
        said = _payload(data, entries)
        comm = f"{said[_COMM]:x}" if _COMM in said else ""
        if name.startswith("ncclGroup"):
            found.groups[key].append((start, end))
        elif _RANKS in said:  # a call that makes a communicator
            found.made.append(_Made(key[0], comm, said[_RANKS], said.get(_RANK, 0)))
        elif kind := kind_of(name):
            size = next((v for n, v in said.items() if n.startswith(_BYTES)), None)
            found.calls[key].append(NcclCall(kind, start, end, comm, size, said.get(_PEER)))
    found.settle()
    return found


def _text(base: Tables, texts: dict[int, str], id: int) -> str:
    if not texts:
        texts |= {whole(key): str(text) for key, text in base.rows("StringIds", ("id", "value"))}
    return texts.get(id, "")


def _ids_of(base: Tables, texts: dict[int, str], text: str) -> set[int]:
    _text(base, texts, 0)
    return {id for id, known in texts.items() if known == text}


_Entries = dict[tuple[int, int], list[tuple[str, int, int]]]  # name, offset, bytes


def _entries(base: Tables) -> _Entries:
    found: defaultdict[tuple[int, int], dict[int, tuple[str, int, int]]] = defaultdict(dict)
    columns = ("domainId", "schemaId", "idx", "type", "name", "offset")
    for domain, schema, place, type, name, offset in base.rows(
        "NVTX_PAYLOAD_SCHEMA_ENTRIES", columns
    ):
        row = str(name or ""), whole(offset), _SIZES.get(whole(type), 4)
        found[whole(domain), whole(schema)][whole(place)] = row
    return {key: list(rows.values()) for key, rows in found.items()}


def _payload(data: Any, entries: _Entries) -> dict[str, int]:
    if isinstance(data, str):
        data = data.encode(errors="replace")
    if not isinstance(data, bytes) or len(data) < _HEADER.size:
        return {}
    domain, schema, size, begin = _HEADER.unpack_from(data)
    end = min(len(data), begin + size)
    return {
        name: int.from_bytes(data[begin + offset : begin + offset + width], "little")
        for name, offset, width in entries.get((domain, schema), ())
        if begin + offset + width <= end
    }


def _start(call: NcclCall) -> int:
    return call.start
