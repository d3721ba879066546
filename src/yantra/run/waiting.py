"""Who waits for whom, in the same words whoever finds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from yantra import _core
from yantra.base.text import count
from yantra.base.units import format_size
from yantra.compile import Model
from yantra.result.tables import NODE_TYPES

SEND, RECEIVE, COLLECTIVE = (
    NODE_TYPES.index(name) for name in ("COMM_SEND", "COMM_RECV", "COMM_COLL")
)
_SHOWN = 10


class Message(NamedTuple):
    """What its two halves, a send and a receive, agree in."""

    source: int
    destination: int
    tag: int
    bytes: int

    @property
    def sent(self) -> str:
        return message(self.destination, self.tag, self.bytes, sends=True)

    @property
    def received(self) -> str:
        return message(self.source, self.tag, self.bytes, sends=False)


def message(peer: int, tag: int, size: int, *, sends: bool) -> str:
    return f"a message {'to' if sends else 'from'} rank {peer} (tag {tag}, {format_size(size)})"


def collective(kind: str, size: int | None, group: object = None) -> str:
    of = "" if size is None else f" of {format_size(size)}"
    return f"the {kind}{of}" + ("" if group is None else f" in group {group}")


def node(graph: _core.Graph, at: int) -> str:
    name = graph.name(at)
    return f"{graph.id[at]} '{name}'" if name else str(graph.id[at])


def node_of(model: Model, rank: int, at: int) -> str:
    return node(model.graphs.of(rank), at)


def first(lines: Sequence[str]) -> list[str]:
    more = len(lines) - _SHOWN
    return [*lines[:_SHOWN], *([f"and {count(more, 'more')} like this"] if more > 0 else [])]


def values(column: _core.IntColumn, nodes: Any) -> list[int]:
    """A column's values at some nodes; 0 where no node of the graph has any."""
    found = np.asarray(column.value)
    return found[nodes].tolist() if len(found) else [0] * len(nodes)


def unreceived(messages: Sequence[_core.Unreceived]) -> str:
    lost = messages[0]
    sent = Message(lost.source, lost.destination, lost.tag, lost.bytes).sent
    more = len(messages) - 1
    was = "was" if more == 1 else "were"
    others = f"; nor {was} {count(more, 'more message')}" if more else ""
    return f"rank {lost.source} sent {sent} that was never received{others}"


def mismatch(model: Model, found: _core.Mismatch) -> str:
    """What is said of ranks that enter different collectives, which meet all the same."""
    entered = node_of(model, found.rank, found.node)
    other = node_of(model, found.other_rank, found.other_node)
    return (
        f"rank {found.rank} enters node {entered} where rank {found.other_rank} enters node "
        f"{other}, another collective; as in ASTRA-sim, their messages meet wherever sizes are "
        "equal"
    )
