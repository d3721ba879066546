"""Messages without another half, found in a job's traces without a run.

Halves agree in source, destination, tag and size. A receive without a send never ends; a send
without a receive is lost, with a warning.

Trade-off: counts alone. Yantra's templates are checked when made, so this takes traces by rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from yantra import _core
from yantra.base.text import count
from yantra.base.units import format_size
from yantra.compile import Model
from yantra.compile.templates import TemplateGraphs
from yantra.result.tables import NODE_TYPES

_SHOWN = 10
_SEND, _RECEIVE = (NODE_TYPES.index(name) for name in ("COMM_SEND", "COMM_RECV"))

Message = tuple[int, int, int, int]
"""Source, destination, tag, bytes."""


def unmatched(model: Model) -> tuple[list[str], list[str]]:
    if isinstance(model.graphs, TemplateGraphs):
        return [], []
    sent: Counter[Message] = Counter()
    received: Counter[Message] = Counter()
    for rank in range(model.ranks):
        graph = model.graphs.of(rank)
        sent.update((rank, *half) for half in _halves(graph, _SEND, graph.comm_dst))
        halves = _halves(graph, _RECEIVE, graph.comm_src)
        received.update((peer, rank, tag, size) for peer, tag, size in halves)
    waiting, lost = received - sent, sent - received
    errors = [_waits(message, lost) for message in sorted(waiting)]
    return _first(errors), _first([_is_lost(message) for message in sorted(lost)])


def _halves(
    graph: _core.Graph, node_type: int, peers: _core.IntColumn
) -> Iterator[tuple[int, int, int]]:
    nodes = np.flatnonzero(np.asarray(graph.type) == node_type)
    columns = (peers, graph.comm_tag, graph.comm_size)
    yield from zip(*(_values(column, nodes) for column in columns), strict=True)


def _values(column: _core.IntColumn, nodes: Any) -> list[int]:
    values = np.asarray(column.value)
    return values[nodes].tolist() if len(values) else [0] * len(nodes)


def _waits(message: Message, lost: Counter[Message]) -> str:
    source, destination, tag, size = message
    near = next((one for one in sorted(lost) if one[:3] == message[:3]), None)
    more = f"; rank {source} sends {format_size(near[3])} with that tag" if near else ""
    return (
        f"rank {destination} waits for ever for a message from rank {source} (tag {tag}, "
        f"{format_size(size)}){more}"
    )


def _is_lost(message: Message) -> str:
    source, destination, tag, size = message
    told = f"rank {source} sends a message to rank {destination} (tag {tag}, {format_size(size)})"
    return f"{told} that nobody receives"


def _first(texts: list[str]) -> list[str]:
    more = len(texts) - _SHOWN
    return texts[:_SHOWN] + ([f"and {count(more, 'more')} like this"] if more > 0 else [])
