"""Messages -> arrows from the sender's slice to the receiver's.

Each end is an instant within the slice of its node: where the message leaves, and where it arrives
or, where that is before its receive is posted, where the receive begins. Perfetto draws an arrow
from the end of what it joins to the beginning, and by their starts, so instants are what points the
right way. A message within one nanosecond has no arrow, for no order of its ends can be told.

Messages of sends come first, then those of collectives, all or none of each. Of a folded run they
are those of the representatives, and arrive at the shown rank of their destination's class.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from yantra.export.timeline.shown import Shown
from yantra.export.timeline.sink import Writer
from yantra.export.timeline.tracks import ABSENT, REAL, WHOLE, Wholes
from yantra.result.tables import NODE_TYPES

Ends = tuple[tuple[Wholes, Wholes, Wholes, Wholes, Wholes], list[tuple[int, int, Wholes]]]
_COLLECTIVE = NODE_TYPES.index("COMM_COLL")
_NOWHERE = -1


class Side(NamedTuple):
    """One end of every message: rank that is shown, node by place in its trace, and ns."""

    rank: Any
    node: Any
    time: Any


class Messages:
    """The messages between ranks that are shown; `notes` tells which are left out."""

    def __init__(self, result: Any, shown: list[Shown], writer: Writer, most: int) -> None:
        self.notes: list[str] = []
        self._result = result
        self._writer = writer
        recorded = result.recorded
        self._table: Any = result.recording.messages if recorded else None
        self._sides: tuple[Side, Side] | None = None
        self._places: list[tuple[Any, Any]] = []
        if self._table is not None and len(self._table):
            self._prepare([item.rank for item in shown], most)

    def ends(self, rank: int, place: Any) -> Ends:
        """Return the ends of messages in the slices of a rank, as the writer takes them.

        `place` gives the slice of each node of the rank.
        """
        found = [self._of_rank(at, rank) for at in range(len(self._places))]
        message = np.concatenate([*found, np.zeros(0, np.int64)])
        arrives = np.repeat(np.arange(len(found)), [len(part) for part in found])
        if self._sides is None or not len(message):
            nothing = np.zeros(0, np.uint64)
            return (nothing, nothing, nothing, nothing, nothing), []
        out, into = self._sides
        slices = place[np.where(arrives == 1, into.node[message], out.node[message])]
        time = np.where(arrives == 1, into.time[message], out.time[message])
        order = np.lexsort((message, arrives, time, slices))
        message, arrives = message[order], arrives[order]
        columns = (
            slices[order].astype(np.uint64),
            time[order],
            self._names(message, arrives),
            self._flow[message],
            arrives.astype(np.uint64),
        )
        return columns, self._arguments(message)

    def _prepare(self, shown: list[int], most: int) -> None:
        """Choose the messages, and find both ends of each."""
        table, model = self._table, self._result.model
        self._number = np.arange(len(table))
        process = self._processes(shown)
        exact = np.full(model.ranks, _NOWHERE)
        exact[shown] = shown
        out = self._side(table["source"], exact, table["node"], table["sent_ns"])
        into = self._side(table["destination"], process, table["peer_node"], table["arrived_ns"])
        drawn = (out.rank != _NOWHERE) & (into.rank != _NOWHERE)
        collective = self._types(out) == _COLLECTIVE
        for which, what in ((~collective, "messages"), (collective, "messages of collectives")):
            wanted = int((drawn & which).sum())
            if wanted > most:
                drawn &= ~which
                self.notes.append(
                    f"{wanted} {what} are not drawn, for they are more than {most}; "
                    "choose fewer ranks or a higher bound on messages"
                )
            most -= int((drawn & which).sum())
        self._sides = out, into
        points = out.time < into.time
        self._flow = np.where(points, self._number + 1, 0).astype(np.uint64)
        self._flow[~points] = ABSENT
        short = int((drawn & ~points).sum())
        if short:
            self.notes.append(f"{short} messages take less than a nanosecond and have no arrow")
        self._places = [_by_rank(side.rank, drawn) for side in (out, into)]

    def _processes(self, shown: list[int]) -> Any:
        """Return the shown rank that stands for each rank; -1 where none does."""
        process = np.full(self._result.model.ranks, _NOWHERE)
        if self._result.outcome.folded:
            class_of = np.asarray(self._result.outcome.class_of)
            of_class = np.full(int(class_of.max()) + 1, _NOWHERE)
            for rank in reversed(shown):
                of_class[class_of[rank]] = rank
            process = of_class[class_of]
        process[shown] = shown
        return process

    def _side(self, ranks: Any, process: Any, ids: Any, times: Any) -> Side:
        """Return where messages end; a time outside its node is moved to the nearest within."""
        model, outcome = self._result.model, self._result.outcome
        of_rank = np.asarray(model.graphs.by_rank)[ranks]
        node = np.zeros(len(ranks), np.int64)
        for at in np.unique(of_rank).tolist():
            which = of_rank == at
            node[which] = np.searchsorted(np.asarray(model.graphs.distinct[at].id), ids[which])
        where = np.asarray(outcome.first_node)[ranks].astype(np.int64) + node
        ticks = np.uint64(model.ticks_per_ns)
        begin, end = (np.asarray(times)[where] // ticks for times in (outcome.start, outcome.end))
        return Side(process[ranks], node, np.clip(np.floor(times).astype(np.uint64), begin, end))

    def _types(self, side: Side) -> Any:
        graphs = self._result.model.graphs
        of_rank = np.asarray(graphs.by_rank)[self._table["source"]]
        types = np.zeros(len(of_rank), np.int64)
        for at in np.unique(of_rank).tolist():
            which = of_rank == at
            types[which] = np.asarray(graphs.distinct[at].type)[side.node[which]]
        return types

    def _of_rank(self, side: int, rank: int) -> Any:
        order, ranks = self._places[side]
        low, high = np.searchsorted(ranks, [rank, rank + 1])
        return order[low:high]

    def _names(self, message: Any, arrives: Any) -> Wholes:
        peers = np.where(
            arrives == 1, self._table["source"][message], self._table["destination"][message]
        )
        text = self._writer.text
        both = [
            text(f"from rank {peer}" if arrived else f"to rank {peer}")
            for peer, arrived in zip(peers.tolist(), arrives.tolist(), strict=True)
        ]
        return np.array(both, np.uint64)

    def _arguments(self, message: Any) -> list[tuple[int, int, Wholes]]:
        found = []
        for name in ("source", "destination", "bytes", "tag", "dimension", "alike"):
            values = self._table[name][message]
            whole = np.where(values >= 0, values, 0).astype(np.uint64)
            found.append((name, WHOLE, np.where(values >= 0, whole, ABSENT)))
        for name in ("sent_ns", "arrived_ns", "queued_ns"):
            values = np.ascontiguousarray(self._table[name][message], np.float64)
            found.append((name, REAL, values.view(np.uint64)))
        return [(self._writer.text(name), kind, values) for name, kind, values in found]


def _by_rank(ranks: Any, drawn: Any) -> tuple[Any, Any]:
    """Return the messages that are drawn by rank, and the rank of each."""
    message = np.flatnonzero(drawn)
    order = message[np.argsort(ranks[message], kind="stable")]
    return order, ranks[order]
