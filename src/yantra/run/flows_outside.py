"""A list of flows on a network program: messages sent at their starts.

Trade-off: both processes hold the whole list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.network.lockstep.conversation import Conversation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from yantra.fabric.graphs.graph import Graph
    from yantra.network.external import Options
    from yantra.network.traffic.generator import Flows

_PS = 1000  # to a ns


class Ended(NamedTuple):
    flow: NDArray[np.int64]


class ProgramRun:
    """Flows on a program. Raises as `Conversation`."""

    solves = 0

    def __init__(self, graph: Graph, first: Any, hops: Any, flows: Flows, options: Options):
        """Flow f uses hops[first[f]:first[f + 1]]."""
        gives_routes = options.routes == "given"
        self._program = Conversation(
            options.command,
            graph,
            gives_routes=gives_routes,
            timeout_s=options.timeout_ns / 1e9,
            where="--command",
        )
        self.end_ns = np.full(len(flows.src), np.inf)
        self._ended: list[int] = []
        links, starts = hops.tolist() if gives_routes else [], first.tolist()
        rows = zip(*(column.tolist() for column in flows), strict=True)
        for flow, (source, destination, size, start_ns) in enumerate(rows):
            route = links[starts[flow] : starts[flow + 1]]
            self._program.send(round(start_ns * _PS), source, destination, size, route)

    @property
    def adds_overhead(self) -> bool:
        """Whether a lone message takes longer than latency and bytes."""
        return self._program.adds_overhead

    def run_for(self, answers: int, step: int | None = None) -> bool:
        """Take up to `answers`; return whether all are through.

        `step`: most ps to advance at a time.
        """
        for _ in range(answers):
            if not self._program.under_way:
                break
            self._advance(step)
        if self._program.under_way:
            return False
        self._program.close()
        return True

    def take_ended(self) -> Ended:
        ended, self._ended = self._ended, []
        return Ended(np.array(ended, np.int64))

    def _advance(self, step: int | None) -> None:
        now = self._program.clock
        until = None if step is None else now + step
        for flow, at in self._program.advance(until, now).arrived:
            self.end_ns[flow] = at / _PS
            self._ended.append(flow)
