"""`Recording`: what a recorded run remembers beyond its result, as tables.

Made by `run(model, record=True)`. Of a folded run, what is told is that of each class's first rank:
its messages go to real ranks, and each stands for `alike` of them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from yantra.compile import Model
from yantra.errors import ConfigError, did_you_mean
from yantra.result.critical_path import CriticalPath, Step, steps_of
from yantra.result.table import Column, Table
from yantra.result.tables import nanoseconds

BYTES_PER_EVENT = 48
"""The most memory a recording takes for each event of the run."""


def memory_limit() -> int:
    """Return the bytes that a recording may take: half of the memory that is free now."""
    import os

    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            free = next(int(line.split()[1]) * 1024 for line in file if "MemAvailable" in line)
    except (OSError, StopIteration):
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return free // 2


class Recording:
    """The messages of a run and what each of its events waited for."""

    def __init__(self, model: Model, outcome: Any, native: Any) -> None:
        self._model = model
        self._outcome = outcome
        self._native = native

    @property
    def bytes(self) -> int:
        """The memory it takes."""
        return int(self._native.bytes)

    @cached_property
    def messages(self) -> Table:
        """One row per message, in the order in which they were sent.

        `source` and `destination` are ranks, `dimension` the lowest that the message crosses,
        `queued_ns` how long it waited for links that carried others. `node` is the id of the node
        that sent it and `peer_node` of the one that received it, 2^64 - 1 where none did. `alike`
        counts the messages it stands for in a folded run, itself among them.
        """
        columns = self._native.messages(self._model.native)
        ticks_per_ns = self._model.ticks_per_ns

        def listed(column: Any) -> Any:
            return lambda: list(column)

        def time(column: Any) -> Any:
            return lambda: [nanoseconds(tick, ticks_per_ns) for tick in column]

        makers: dict[str, Column] = {
            "source": ("whole", listed(columns.source)),
            "destination": ("whole", listed(columns.destination)),
            "tag": ("whole", listed(columns.tag)),
            "bytes": ("whole", listed(columns.bytes)),
            "dimension": ("whole", listed(columns.dimension)),
            "sent_ns": ("real", time(columns.sent)),
            "arrived_ns": ("real", time(columns.arrived)),
            "queued_ns": ("real", time(columns.queued)),
            "node": ("id", listed(columns.node)),
            "peer_node": ("id", listed(columns.peer_node)),
            "alike": ("whole", listed(columns.alike)),
        }
        return Table("messages", len(columns.source), makers)

    @cached_property
    def critical_path(self) -> CriticalPath:
        """What the last rank waited for, from the start of the run to its finish."""
        return CriticalPath(
            self._model, self._native.critical_path(self._model.native, self._outcome)
        )

    def waited_for(self, rank: int, node_id: int) -> tuple[Step, ...]:
        """Return what the end of a node waited for, back to its start, oldest first.

        Empty if the node took no time or never ended. Raises ConfigError for a rank or a node that
        does not exist.
        """
        if not 0 <= rank < self._model.ranks:
            raise ConfigError(
                "rank", f"there is no rank {rank}; ranks are 0 to {self._model.ranks - 1}"
            )
        ids = list(self._model.graphs.of(rank).id)
        if node_id not in ids:
            hint = did_you_mean(str(node_id), [str(other) for other in ids])
            raise ConfigError("node_id", f"rank {rank} has no node {node_id}{hint}")
        node = ids.index(node_id)
        columns = self._native.waited_for(self._model.native, self._outcome, rank, node)
        return tuple(steps_of(self._model, columns))
