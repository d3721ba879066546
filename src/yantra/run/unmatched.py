"""Messages without another half, found in a job's traces without a run.

Halves agree in source, destination, tag and size. A receive without a send never ends; a send
without a receive is lost, with a warning.

Trade-off: counts alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from yantra import _core
from yantra.base.units import format_size
from yantra.compile import Model
from yantra.compile.templates import TemplateGraphs
from yantra.run.waiting import RECEIVE, SEND, Message, first, values


def unmatched(model: Model) -> tuple[list[str], list[str]]:
    if isinstance(model.graphs, TemplateGraphs):
        return [], []
    sent: Counter[Message] = Counter()
    received: Counter[Message] = Counter()
    for rank in range(model.ranks):
        graph = model.graphs.of(rank)
        halves = _halves(graph, SEND, graph.comm_dst)
        sent.update(Message(rank, peer, tag, size) for peer, tag, size in halves)
        halves = _halves(graph, RECEIVE, graph.comm_src)
        received.update(Message(peer, rank, tag, size) for peer, tag, size in halves)
    waiting, lost = received - sent, sent - received
    errors = [_waits(message, lost) for message in sorted(waiting)]
    return first(errors), first(
        [f"rank {one.source} sends {one.sent} that nobody receives" for one in sorted(lost)]
    )


def _halves(
    graph: _core.Graph, node_type: int, peers: _core.IntColumn
) -> Iterator[tuple[int, int, int]]:
    nodes = np.flatnonzero(np.asarray(graph.type) == node_type)
    columns = (peers, graph.comm_tag, graph.comm_size)
    yield from zip(*(values(column, nodes) for column in columns), strict=True)


def _waits(of: Message, lost: Counter[Message]) -> str:
    near = next((one for one in sorted(lost) if one[:3] == of[:3]), None)
    more = f"; rank {of.source} sends {format_size(near.bytes)} with that tag" if near else ""
    return f"rank {of.destination} waits for ever for {of.received}{more}"
