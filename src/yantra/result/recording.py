"""`Recording`: what a recorded run (`run(model, record=True)`) remembers beyond its result, as
tables.

A folded run has each class's first rank: its messages go to real ranks, and each is one of `alike`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from yantra import _core
from yantra.base.errors import ConfigError, UnsupportedError, did_you_mean
from yantra.base.memory import left_bytes
from yantra.compile import Model
from yantra.result.columns import Kind, Ticks
from yantra.result.critical_path import CriticalPath, Step, steps_of
from yantra.result.link_load import flow_table, rate_table
from yantra.result.network import capacities, dimension_uses, link_rates
from yantra.result.table import Column, Table
from yantra.result.tables import nanoseconds

BYTES_PER_EVENT = 48
"""Most bytes of a recording for each event."""

_MOST_ROWS = 10_000_000


def memory_limit() -> int:
    return left_bytes() // 2


class Recording:
    """A run's messages and what its events waited for; `native` is the core's own."""

    def __init__(self, model: Model, outcome: _core.Outcome, native: _core.Recording) -> None:
        self._model = model
        self._outcome = outcome
        self.native = native
        """The core's recording."""

    @property
    def bytes(self) -> int:
        """The memory it takes."""
        return self.native.bytes

    @cached_property
    def messages(self) -> Table:
        """One row per message, as sent.

        `source` and `destination` are ranks, `dimension` is the lowest crossed, `queued_ns` the
        wait for busy links, `node` the sending node's id, `peer_node` the receiving one's (2^64 -
        1: none). `alike` counts the messages of a folded run that it represents, itself included.
        """
        columns = self.native.messages(self._model.native)
        ticks_per_ns = self._model.ticks_per_ns

        def times(ticks: memoryview[int]) -> Column:
            return "real", lambda: Ticks(ticks, ticks_per_ns)

        makers: dict[str, Column] = {
            "source": ("whole", lambda: columns.source),
            "destination": ("whole", lambda: columns.destination),
            "tag": ("whole", lambda: columns.tag),
            "bytes": ("whole", lambda: columns.bytes),
            "dimension": ("whole", lambda: columns.dimension),
            "sent_ns": times(columns.sent),
            "arrived_ns": times(columns.arrived),
            "queued_ns": times(columns.queued),
            "node": ("id", lambda: columns.node),
            "peer_node": ("id", lambda: columns.peer_node),
            "alike": ("whole", lambda: columns.alike),
        }
        return Table("messages", len(columns.source), makers)

    @cached_property
    def critical_path(self) -> CriticalPath:
        """What the last rank waited for, from the start of the run to its finish."""
        return CriticalPath(
            self._model, self.native.critical_path(self._model.native, self._outcome)
        )

    @cached_property
    def collective_parts(self) -> _core.CollectiveParts:
        """The core's columns of `Result.collectives`, a row for each that ended, by place."""
        return self.native.collective_parts(self._model.native, self._outcome)

    @cached_property
    def slack_ticks(self) -> memoryview[int]:
        """The slack of every node that ran, by its place in the outcome."""
        return self.native.slack(self._outcome).ticks

    def utilisation(self, bins: int = 200) -> Table:
        """How much each dimension carried in each of `bins` equal stretches.

        A message's bytes are spread over its time on the wire as whole bytes, so they add up to
        `Result.dimensions`. `utilisation` is of capacity. The last stretch has what travels after
        the last finish.
        """
        _check_bins(bins)
        columns = self.native.dimension_utilisation(self._model.native, self._outcome, bins)
        uses = dimension_uses(self._model, self._outcome, 0.0)
        capacity = capacities(self._model, uses)
        rows = [use.dimension for use in uses]
        return self._binned("utilisation", {"dimension": ("whole", rows)}, capacity, columns)

    def link_utilisation(self, bins: int = 200) -> Table:
        """The same for every link that carried something on a network that keeps links.

        Links are named as in `Result.links`; empty on other networks. Raises UnsupportedError for
        more than ten million rows.
        """
        _check_bins(bins)
        links = self._outcome.links
        if len(links) * bins > _MOST_ROWS:
            raise UnsupportedError(
                f"{len(links)} links in {bins} bins are more than ten million rows; ask for at "
                f"most {_MOST_ROWS // len(links)} bins"
            )
        columns = self.native.link_utilisation(self._model.native, self._outcome, bins)
        capacity = link_rates(self._model, links)
        names: dict[str, tuple[Kind, list[Any]]] = {
            "dimension": ("whole", [link.dimension for link in links]),
            "source": ("whole", [link.source for link in links]),
            "destination": ("whole", [link.destination for link in links]),
        }
        return self._binned("link_utilisation", names, capacity, columns)

    @cached_property
    def link_rates(self) -> Table:
        """The rate of every link from change to change; see `yantra.result.link_load`."""
        return rate_table(self._model, self._outcome, self.native)

    @cached_property
    def link_flows(self) -> Table:
        """One row per link and message that crossed it; see `yantra.result.link_load`."""
        return flow_table(self._model, self._outcome, self.native)

    def flows_over(self, links: Sequence[int]) -> Table:
        """The same for some rows of `Result.links`."""
        return flow_table(self._model, self._outcome, self.native, links)

    def _binned(
        self,
        name: str,
        rows: dict[str, tuple[Kind, list[Any]]],
        capacity: list[float],
        columns: _core.Utilisation,
    ) -> Table:
        per_ns = self._model.ticks_per_ns
        edges = [nanoseconds(tick, per_ns) or 0 for tick in columns.edges]
        bins = len(edges) - 1
        count = len(capacity)

        def share() -> list[float]:
            lengths = [end - start for start, end in pairwise(edges)] * count
            rates = [rate for rate in capacity for _ in range(bins)]
            each = zip(columns.bytes, lengths, rates, strict=True)
            return [size / (length * rate) if length else 0.0 for size, length, rate in each]

        def repeated(values: list[Any]) -> Callable[[], list[Any]]:
            return lambda: [value for value in values for _ in range(bins)]

        makers: dict[str, Column] = {
            column: (kind, repeated(values)) for column, (kind, values) in rows.items()
        }
        makers["from_ns"] = ("real", lambda: edges[:-1] * count)
        makers["to_ns"] = ("real", lambda: edges[1:] * count)
        makers["bytes"] = ("whole", lambda: list(columns.bytes))
        makers["utilisation"] = ("real", share)
        return Table(name, bins * count, makers)

    def waited_for(self, rank: int, node_id: int, last: int | None = None) -> tuple[Step, ...]:
        """What the end of a node waited for, back to its start, oldest first.

        Empty if the node took no time or never ended. `last` limits it to the last steps. Raises
        ConfigError for an unknown rank or node.
        """
        if not 0 <= rank < self._model.ranks:
            raise ConfigError(
                "rank", f"there is no rank {rank}; ranks are 0 to {self._model.ranks - 1}"
            )
        ids = self._model.graphs.of(rank).id
        node = bisect_left(ids, node_id)
        if node == len(ids) or ids[node] != node_id:
            hint = did_you_mean(str(node_id), [str(other) for other in ids])
            raise ConfigError("node_id", f"rank {rank} has no node {node_id}{hint}")
        columns = self.native.waited_for(self._model.native, self._outcome, rank, node)
        first = 0 if last is None else max(len(columns.kind) - last, 0)
        return tuple(steps_of(self._model, columns, first))


def _check_bins(bins: int) -> None:
    if bins < 1:
        raise ConfigError("bins", f"expected at least 1, got {bins}")
