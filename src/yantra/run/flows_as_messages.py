"""A list of flows as messages of a job, for any network.

Trade-off: no news before the whole job ends, and three nodes per flow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.chakra import TraceBuilder
from yantra.compile import compile
from yantra.run.simulate import run
from yantra.scenario import Resources, Scenario, Traces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from yantra.network.traffic.generator import Flows

_ARRIVES = "flow "


class Ended(NamedTuple):
    flow: NDArray[np.int64]


class MessageRun:
    """Flows as a scenario's workload; `run_for` runs them all."""

    solves = 0

    def __init__(self, flows: Flows, scenario: Scenario) -> None:
        self.end_ns = np.full(len(flows.src), np.inf)
        self._ended: NDArray[np.int64] = np.zeros(0, np.int64)
        most = max(1, len(flows.src))
        busy = Resources(cpu_slots=most, sends_at_once=most)
        self._model = compile(
            scenario.replace(workload=_job(flows, scenario.topology.ranks), resources=busy)
        )

    def run_for(self, steps: int) -> bool:
        """Run all; True. Raises DeadlockError where a flow never ends."""
        result = run(self._model, fold="off")
        rows = result.nodes.as_dict()
        for name, end_ns in zip(rows["name"], rows["end_ns"], strict=True):
            if name.startswith(_ARRIVES):
                self.end_ns[int(name.removeprefix(_ARRIVES))] = end_ns
        self._ended = np.arange(len(self.end_ns))
        return True

    def take_ended(self) -> Ended:
        ended, self._ended = self._ended, np.zeros(0, np.int64)
        return Ended(ended)


def _job(flows: Flows, ranks: int) -> Traces:
    traces = [TraceBuilder(rank=rank) for rank in range(ranks)]
    rows = zip(*(column.tolist() for column in flows), strict=True)
    for flow, (source, destination, size, start_ns) in enumerate(rows):
        sender = traces[source]
        after = []
        if start_ns:
            after = [sender.compute(f"until {start_ns} ns", cpu=True)]
            after[0]["duration_ns"] = start_ns
        sender.send(destination, size, tag=flow, after=after)
        traces[destination].recv(source, size, tag=flow, name=f"{_ARRIVES}{flow}")
    return Traces(traces=tuple(trace.build() for trace in traces))
