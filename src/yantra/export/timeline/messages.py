"""Messages -> arrows from the sender's slice to the receiver's.

Ends are instants: where the message leaves, and where it arrives or, if later, its receive begins;
Perfetto orders arrows by starts, so slices would point wrongly.

Sends' messages come first, then collectives', all or none of each. A folded run shows the
representatives', to their destination class's shown rank.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from yantra import _core
from yantra.export.timeline.shown import Shown
from yantra.export.timeline.sink import Writer
from yantra.export.timeline.tracks import ABSENT, REAL, WHOLE, NamedColumn, Wholes
from yantra.result import Result
from yantra.result.tables import NODE_TYPES

_COLLECTIVE = NODE_TYPES.index("COMM_COLL")
_NOWHERE = -1


class Side(NamedTuple):
    """One end of every message: shown rank, node by place in its trace, and ns."""

    rank: Any
    node: Any
    time: Any


class Messages:
    """The messages between shown ranks; `notes` says which are left out."""

    def __init__(self, result: Result, shown: list[Shown], writer: Writer, most: int) -> None:
        self.notes: list[str] = []
        self._result = result
        self._writer = writer
        recorded = result.recorded
        self._table: Any = result.recording.messages if recorded else None
        self._sides: tuple[Side, Side] | None = None
        self._places: list[tuple[Any, Any]] = []
        if self._table is not None and len(self._table):
            self._prepare([item.rank for item in shown], most)

    def ends(self, rank: int, place: Any) -> _core.MessageEnds:
        found = [self._of_rank(at, rank) for at in range(len(self._places))]
        drawn = np.concatenate([*found, np.zeros(0, np.int64)])
        arrives = np.repeat(np.arange(len(found)), [len(part) for part in found])
        if self._sides is None or not len(drawn):
            return no_messages()
        out, into = self._sides
        slices = place[np.where(arrives == 1, into.node[drawn], out.node[drawn])]
        time = np.where(arrives == 1, into.time[drawn], out.time[drawn])
        order = np.lexsort((drawn, arrives, time, slices))
        drawn, arrives = drawn[order], arrives[order]
        return _core.MessageEnds(
            slice=slices[order].astype(np.uint64),
            time=time[order],
            name=self._names(drawn, arrives),
            flow=self._flow[drawn],
            arrives=arrives.astype(np.uint64),
            arguments=[column.native() for column in self._arguments(drawn)],
        )

    def _prepare(self, shown: list[int], most: int) -> None:
        table = self._table
        process = self._processes(shown)
        exact = np.full(self._result.model.ranks, _NOWHERE)
        exact[shown] = shown
        sent_by, sent_to = exact[table["source"]], process[table["destination"]]
        received = (table["peer_node"] != ABSENT) & ~np.isnan(table["arrived_ns"])
        lost = int((~received).sum())
        if lost:
            self.notes.append(f"not drawn: {_messages(lost)} that no node received")
        chosen = self._choose((sent_by != _NOWHERE) & (sent_to != _NOWHERE) & received, most)
        self._message = chosen
        out = Side(sent_by[chosen], *self._moments("source", "node", "sent_ns"))
        into = Side(sent_to[chosen], *self._moments("destination", "peer_node", "arrived_ns"))
        points = out.time < into.time
        self._flow = np.where(points, chosen.astype(np.uint64) + np.uint64(1), ABSENT)
        short = len(chosen) - int(points.sum())
        if short:
            self.notes.append(f"drawn without an arrow: {_messages(short)} within one nanosecond")
        self._sides = out, into
        self._places = [_by_rank(side.rank) for side in (out, into)]

    def _choose(self, drawn: Any, most: int) -> Any:
        if int(drawn.sum()) <= most:
            return np.flatnonzero(drawn)
        collective = (self._by_trace("source", "node", _is_collective) == 1) & drawn
        for which, what in ((drawn & ~collective, ""), (collective, " of collectives")):
            wanted = int(which.sum())
            if wanted > most:
                drawn = drawn & ~which
                self.notes.append(
                    f"{_messages(wanted)}{what} not drawn: the limit is {most}; "
                    "choose fewer ranks, or a higher limit (--trace-messages)"
                )
            else:
                most -= wanted
        return np.flatnonzero(drawn)

    def _processes(self, shown: list[int]) -> Any:
        process = np.full(self._result.model.ranks, _NOWHERE)
        if self._result.outcome.folded:
            class_of = np.asarray(self._result.outcome.class_of)
            of_class = np.full(int(class_of.max()) + 1, _NOWHERE)
            for rank in reversed(shown):
                of_class[class_of[rank]] = rank
            process = of_class[class_of]
        process[shown] = shown
        return process

    def _moments(self, ranks: str, ids: str, times: str) -> tuple[Any, Any]:
        model, outcome = self._result.model, self._result.outcome
        node = self._by_trace(ranks, ids, _place, self._message)
        first = np.asarray(outcome.first_node)[self._table[ranks][self._message]]
        ticks = np.uint64(model.ticks_per_ns)
        begin, end = (
            np.asarray(column)[first.astype(np.int64) + node] // ticks
            for column in (outcome.start, outcome.end)
        )
        moment = np.floor(self._table[times][self._message]).astype(np.uint64)
        return node, np.clip(moment, begin, end)

    def _by_trace(self, ranks: str, ids: str, of: Any, message: Any = slice(None)) -> Any:
        graphs = self._result.model.graphs
        of_rank = np.asarray(graphs.by_rank)[self._table[ranks][message]]
        wanted = self._table[ids][message]
        found = np.zeros(len(wanted), np.int64)
        for at, graph in enumerate(graphs.distinct):
            which = of_rank == at
            if which.any():
                found[which] = of(graph, wanted[which])
        return found

    def _of_rank(self, side: int, rank: int) -> Any:
        order, ranks = self._places[side]
        low, high = np.searchsorted(ranks, [rank, rank + 1])
        return order[low:high]

    def _names(self, drawn: Any, arrives: Any) -> Wholes:
        message = self._message[drawn]
        peers = np.where(
            arrives == 1, self._table["source"][message], self._table["destination"][message]
        )
        text = self._writer.text
        both = [
            text(f"from rank {peer}" if arrived else f"to rank {peer}")
            for peer, arrived in zip(peers.tolist(), arrives.tolist(), strict=True)
        ]
        return np.array(both, np.uint64)

    def _arguments(self, drawn: Any) -> list[NamedColumn]:
        message = self._message[drawn]
        text = self._writer.text
        found = []
        for name in ("source", "destination", "bytes", "tag", "dimension", "alike"):
            values = self._table[name][message]
            whole = np.where(values >= 0, values, 0).astype(np.uint64)
            found.append(NamedColumn(text(name), WHOLE, np.where(values >= 0, whole, ABSENT)))
        for name in ("sent_ns", "arrived_ns", "queued_ns"):
            values = np.ascontiguousarray(self._table[name][message], np.float64)
            found.append(NamedColumn(text(name), REAL, values.view(np.uint64)))
        return found


def no_messages() -> _core.MessageEnds:
    nothing = np.zeros(0, np.uint64)
    return _core.MessageEnds(
        slice=nothing, time=nothing, name=nothing, flow=nothing, arrives=nothing, arguments=[]
    )


def _by_rank(ranks: Any) -> tuple[Any, Any]:
    order = np.argsort(ranks, kind="stable")
    return order, ranks[order]


def _place(graph: _core.Graph, ids: Any) -> Any:
    known = np.asarray(graph.id)
    if known[-1] < np.uint64(4 * len(known)):
        places = np.zeros(int(known[-1]) + 1, np.int64)
        places[known.astype(np.int64)] = np.arange(len(known))
        return places[np.minimum(ids, known[-1]).astype(np.int64)]
    return np.searchsorted(known, ids)


def _is_collective(graph: _core.Graph, ids: Any) -> Any:
    return (np.asarray(graph.type) == _COLLECTIVE)[_place(graph, ids)]


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"
