"""A collective's operators on the host as one record.

PyTorch leaves up to four records of a call, nested in no fixed order: `c10d::*`,
`record_param_comms`, `nccl:*` or `gloo:*`, and our annotation `chakra::comm|{JSON}`. That knows
most, then the device trace's arguments and `record_param_comms`, then the tensors of `c10d::*`.

Source: files of PyTorch 1.13 to 2.13.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from yantra.base.documents import json_value
from yantra.tracing.pytorch.linked import CommArgs, Operator
from yantra.tracing.pytorch.linked_columns import by_id
from yantra.tracing.pytorch.tensors import (
    decoded,
    dtype_bytes,
    input_bytes,
    output_bytes,
    value_bytes,
)

COMM_NOTE = "chakra::comm|"
WAIT_NOTE = "chakra::wait|"
RECORD = "record_param_comms"
LABELS = ("nccl:", "gloo:", "ucc:", "mpi:", "rccl:", "hccl:", "xccl:")
_SORTS = {"label": LABELS, "api": ("c10d::",), "note": (COMM_NOTE,)}
_BATCH = ":coalesced"  # the siblings before it are its messages
_HIGHEST = 12  # operators above a collective that may belong to it
# Their operator takes the output first.
_INPUT_SECOND = ("allgather", "reducescatter", "alltoall", "gather", "scatter")


class Call(Struct):
    """A collective, send or receive of one rank.

    `name` is lower case without `_`: allreduce, alltoall, send, ... `peer`: a global rank if
    `peer_is_global`, else a place in the group; the root, if rooted. `sent`, `received`: own bytes,
    None if unknown. `key`: id of the call's operator; `note_id`: the annotation's number. `sends`,
    `gets`: all-to-all rows by the other member's place, empty if unknown.
    """

    key: int
    name: str = ""
    group: str | None = None
    ranks: tuple[int, ...] = ()
    group_size: int | None = None
    sent: int | None = None
    received: int | None = None
    peer: int | None = None
    peer_is_global: bool = False
    tag: int | None = None
    sequence: int | None = None
    note_id: int | None = None
    asynchronous: bool = False
    sends: tuple[int, ...] = ()
    gets: tuple[int, ...] = ()

    @property
    def uneven(self) -> bool:
        return len(set(self.sends)) > 1 or len(set(self.gets)) > 1


def plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def facts(name: str, kind: str) -> dict[str, Any] | None:
    if not name.startswith(kind):
        return None
    text = name[len(kind) :]
    try:
        found = json_value(text if '"' in text else text.replace("'", '"'))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


class Calls:
    """Finds an operator's call; each set of records is read once."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        self.by_id = by_id(operators)
        self.records: list[Operator] = []
        self._beside: dict[int, Operator] = {}
        self._known: dict[tuple[bool, tuple[int, ...]], Call] = {}
        records: dict[int | None, Operator] = {}  # by parent, the latest
        latest: dict[int, Operator] = {}  # by thread, the latest `c10d` operator
        for operator in operators:
            sort = sort_of(operator.name)
            if sort == "record":
                records[operator.parent] = operator
                self.records.append(operator)
            elif sort == "api":
                latest[operator.tid] = operator
            elif sort == "label" and not operator.name.endswith(_BATCH):
                if operator.parent in records:
                    self._beside[operator.id] = records[operator.parent]
            elif sort == "note":
                api = latest.get(operator.tid)
                if api is not None and _encloses(api, operator):
                    self._beside.setdefault(api.id, operator)

    def of(self, operator_id: int | None, args: CommArgs | None = None) -> Call | None:
        around = {} if operator_id is None else self.around(operator_id)
        if not around and args is None:
            return None
        stands = around.get("record") or around.get("api") or next(iter(around.values()), None)
        key = stands.id if stands else -1 if operator_id is None else operator_id
        if not around:
            return _read(key, around, args)
        seen = args is None, tuple(operator.id for operator in around.values())
        call = self._known.get(seen)
        if call is None:
            call = self._known[seen] = _read(key, around, args)
        return call

    def around(self, id: int) -> dict[str, Operator]:
        """Where a kind of record is met twice, the outer one is another call's: batched receives
        are inside the send before. A label's record may be the sibling before it.
        """
        found: dict[str, Operator] = {}
        at: int | None = id
        for _ in range(_HIGHEST):
            operator = None if at is None else self.by_id.get(at)
            if operator is None or operator.parent == operator.id:
                break
            sort = sort_of(operator.name)
            if sort in found:
                break
            if sort:
                found[sort] = operator
            at = operator.parent
        for operator in list(found.values()):
            self._add_beside(found, operator)
        return found

    def _add_beside(self, found: dict[str, Operator], operator: Operator) -> None:
        other = self._beside.get(operator.id)
        if other is not None:
            found.setdefault(sort_of(other.name), other)


def _encloses(outer: Operator, inner: Operator) -> bool:
    # By the host trace or, where that errs, by the times.
    if inner.parent == outer.id or outer.start_ns is None or inner.start_ns is None:
        return inner.parent == outer.id
    return outer.start_ns <= inner.start_ns < outer.start_ns + outer.dur_ns


@lru_cache(4096)  # few names, many operators
def sort_of(name: str) -> str:
    if name == RECORD:
        return "record"
    return next((sort for sort, starts in _SORTS.items() if name.startswith(starts)), "")


def _read(key: int, around: Mapping[str, Operator], args: CommArgs | None) -> Call:
    call = Call(key)
    if "api" in around:
        _from_api(call, around["api"])
    if "label" in around:
        _from_label(call, around["label"])
    if "record" in around:
        _from_record(call, around["record"])
        args = args or around["record"].comm
    if args is not None:
        _from_args(call, args)
    if "note" in around:
        _from_note(call, facts(around["note"].name, COMM_NOTE) or {})
    elif not call.sent and not call.received:
        # Without tensors a record says 0 bytes; the label may know.
        shown = input_bytes(around["label"]) if "label" in around else 0
        call.sent, call.received = shown or None, None
    return call


def _from_api(call: Call, operator: Operator) -> None:
    """The group is an object, not in the trace."""
    call.name = plain(operator.name.removeprefix("c10d::"))
    io = decoded(operator.inputs)
    sizes = [value_bytes(*pair) for pair in zip(io.values, io.types, strict=False)]
    second = call.name.startswith(_INPUT_SECOND) and len(sizes) > 1
    if second:
        call.sent, call.received = sizes[1], sizes[0]
    elif sizes:
        call.sent = call.received = sizes[0]
    if call.name.startswith(("send", "recv")) and len(io.values) > 3:
        call.peer, call.tag = _number(io.values[2]), _number(io.values[3])
    if call.name.startswith("alltoallbase") and len(io.values) > 4:
        call.gets, call.sends = _rows(io.values[3]), _rows(io.values[4])


def _from_label(call: Call, operator: Operator) -> None:
    name = operator.name.split(":", 1)[1]
    if not call.name or call.name == "coalesced":
        call.name = plain(name)
    ends = re.fullmatch(r"(?:send|recv) [0-9]{1,9}(?:->|<-)([0-9]{1,9})", name)
    if ends:  # "send 0->1", "recv 1<-0": own place first
        call.peer = int(ends[1])
    if call.sent is None:
        call.sent = input_bytes(operator) or None


def _from_record(call: Call, operator: Operator) -> None:
    """Inputs before the collective's name shift by version."""
    io = decoded(operator.inputs)
    at = next((i for i, type in enumerate(io.types) if type == "String"), None)
    if at is None or at >= len(io.values):
        return
    values = io.values
    call.name = plain(str(values[at])) or call.name
    first = max(0, at - 3)
    if at >= 3:
        call.sequence = _sequence(values[at - 3])
        call.group = _group(values[at - 2])
        call.peer = _number(values[at - 1])
    call.sends, call.gets = (
        _rows(rows) or before
        for rows, before in zip(
            [*values[at + 1 : at + 3], None, None][:2], (call.sends, call.gets), strict=True
        )
    )
    if len(values) > at + 5:
        call.ranks = _strided(*values[at + 3 : at + 6]) or call.ranks
        call.group_size = _number(values[at + 5]) or call.group_size
    call.sent = input_bytes(operator, 0, first) or call.sent
    call.received = output_bytes(operator) or call.received
    _from_attributes(call, operator)


def _from_attributes(call: Call, operator: Operator) -> None:
    found = {attr.name: attr.value for attr in operator.attrs}
    name, group = found.get("collective_name"), found.get("pg_name")
    call.name = plain(name) if isinstance(name, str) and name else call.name
    call.group = group if isinstance(group, str) and group else call.group
    call.group_size = _number(found.get("pg_size")) or call.group_size
    size = dtype_bytes(str(found.get("dtype", "")))
    _set_elements(call, found.get("in_msg_nelems"), found.get("out_msg_nelems"), size)


def _from_args(call: Call, args: CommArgs) -> None:
    call.name = plain(args.collective) or call.name
    call.group = args.group_name or call.group
    call.group_size = args.group_size or call.group_size
    call.sequence = args.sequence if args.sequence is not None else call.sequence
    _set_elements(call, args.in_nelems, args.out_nelems, dtype_bytes(args.dtype))
    call.sends = _listed(args.in_splits) or call.sends
    call.gets = _listed(args.out_splits) or call.gets
    ranks = _listed(args.ranks)
    if ranks and len(ranks) == (args.group_size or len(ranks)):
        call.ranks = ranks
    if call.name in ("send", "recv"):
        peer = args.dst_rank if call.name == "send" else args.src_rank
        call.peer = peer if peer is not None else call.peer


def _from_note(call: Call, note: dict[str, Any]) -> None:
    call.name = plain(str(note.get("op", ""))) or call.name
    group = note.get("pg")
    call.group = group if isinstance(group, str) else call.group
    ranks = note.get("ranks")
    if isinstance(ranks, list) and all(type(rank) is int for rank in ranks):
        call.ranks = tuple(ranks)
        call.group_size = len(ranks) or call.group_size
    size = _number(note.get("bytes"))
    call.sent = size if size is not None else call.sent
    if _number(note.get("peer")) is not None:
        call.peer, call.peer_is_global = note["peer"], True
    call.tag = _number(note.get("tag"))
    call.sequence = _number(note.get("seq"))
    call.note_id = _number(note.get("id"))
    call.asynchronous = bool(note.get("async"))


def _set_elements(call: Call, sent: Any, received: Any, size: int | None) -> None:
    if size is not None and type(sent) is int and sent >= 0:
        call.sent = sent * size
    if size is not None and type(received) is int and received >= 0:
        call.received = received * size


def _number(value: Any) -> int | None:
    return value if type(value) is int else None


def _sequence(value: Any) -> int | None:
    # Since schema 1.0.3 it is [number, is p2p].
    return _number(value[0] if isinstance(value, list) and value else value)


def _group(value: Any) -> str | None:
    # (name, description) since schema 1.0.3, before an address.
    if isinstance(value, list) and value and isinstance(value[0], str) and value[0]:
        return value[0]
    return None


def _strided(start: Any, stride: Any, size: Any) -> tuple[int, ...]:
    if all(type(item) is int for item in (start, stride, size)) and start >= 0 < stride:
        return tuple(range(start, start + stride * min(size, 1 << 20), stride)) if size > 0 else ()
    return ()


def _listed(text: str) -> tuple[int, ...]:
    try:
        return _whole(json_value(text))
    except ValueError:
        return ()


def _rows(splits: Any) -> tuple[int, ...]:
    # A list, or its text.
    return _listed(splits) if isinstance(splits, str) else _whole(splits)


def _whole(found: Any) -> tuple[int, ...]:
    is_list = isinstance(found, list) and all(type(one) is int and one >= 0 for one in found)
    return tuple(found) if is_list else ()
