"""Collectives in the host trace: `record_param_comms` and its process group.

Inputs: [tensors], sequence number, (group name, description), rank, name, ...; calls without
tensors (wait, barrier) omit the first. Later schemas repeat the group as attributes; before 1.0.3
it has no name.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from yantra.tracing.pytorch.event_columns import flags
from yantra.tracing.pytorch.host_columns import Nodes
from yantra.tracing.pytorch.host_nodes import HostNode

_NAME = "record_param_comms"


class Record(Struct, gc=False):
    """A call of a communicator; `sequence` numbers its calls, -1 if unknown."""

    group: str
    sequence: int
    call: str


class _Inputs(Struct):
    values: list[Any] = []


def records(nodes: Nodes) -> dict[int, Record]:
    decoder = msgspec.json.Decoder(_Inputs)
    found = {}
    for index in np.flatnonzero(flags(nodes.names, _NAME.__eq__)[nodes.name]).tolist():
        record = _record(nodes[index], decoder)
        if record is not None:
            found[index] = record
    return found


def _record(node: HostNode, decoder: msgspec.json.Decoder[_Inputs]) -> Record | None:
    try:
        values = decoder.decode(node.inputs).values
    except msgspec.MsgspecError:
        return None
    at = 0 if values and _sequence(values[0]) is not None else 1
    sequence = _sequence(values[at]) if len(values) > at else None
    group = values[at + 1] if len(values) > at + 1 else None
    call = values[at + 3] if len(values) > at + 3 else ""
    attrs = {attr.name: attr.value for attr in node.attrs if attr.name in _GROUP_ATTRS}
    name = attrs.get("pg_name") or (group[0] if isinstance(group, list) and group else None)
    return Record(
        group=str(name) if isinstance(name, str | int) else "",
        sequence=-1 if sequence is None else sequence,
        call=str(attrs.get("collective_name") or (call if isinstance(call, str) else "")),
    )


_GROUP_ATTRS = frozenset({"pg_name", "collective_name"})


def _sequence(value: Any) -> int | None:
    # 5 or [5, is_p2p]
    if isinstance(value, list) and len(value) == 2 and isinstance(value[1], bool | int):
        value = value[0]
    return value if type(value) is int else None
