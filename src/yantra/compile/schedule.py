"""Which ready node starts first: a scheduler's order for each job, as numbers.

The core's own (`in_order`) is not asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra import _core
from yantra.base.fields import named
from yantra.scenario import Scenario
from yantra.schedulers import class_of, scheduler_of
from yantra.schedulers.scheduler import COLLECTIVE, MEMORY, RECEIVE, SEND, Nodes, Scheduler

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NO_SLOT = 0xFF
_LONGEST = 2**62  # ps, the longest


def collective_order(scenario: Scenario) -> str:
    if class_of(scenario.scheduler).orders_collectives:
        return "explicit"
    return scenario.collectives.priority


class StartOrder:
    """Start order of jobs' nodes by the scenario's scheduler."""

    def __init__(self, scenario: Scenario, builder: _core.ModelBuilder, ticks_per_ns: int) -> None:
        self._scheduler: Scheduler | None = None
        if not class_of(scenario.scheduler).native:
            self._scheduler = scheduler_of(scenario.scheduler)
            self._scenario = scenario
            self._slots = tuple(builder.slots.capacity)
            self._ps_per_tick = 1000 // ticks_per_ns

    def of(self, job: _core.Job, graph: _core.Graph) -> _core.Job:
        if self._scheduler is None or not len(job):
            return job
        from yantra.schedulers.answers import ask

        given = ask(self._scheduler, self._nodes(job, graph), named(self._scenario.scheduler))
        return _core.scheduled(job, *given)

    def _nodes(self, job: _core.Job, graph: _core.Graph) -> Nodes:
        import numpy as np

        columns = _core.op_columns(job)
        slot = np.array(columns.slot, np.int64)
        slot[slot == _NO_SLOT] = -1
        kind, size = np.array(columns.kind), np.array(columns.bytes)
        nodes = Nodes(
            id=np.array(graph.id),
            kind=kind,
            slot=slot,
            ps=self._ps(kind, size, np.array(columns.ticks)),
            bytes=size,
            child_begin=np.array(graph.child_begin, np.int64),
            child=np.array(graph.child, np.int64),
            slots=self._slots,
        )
        for part in nodes.__dict__.values():
            if isinstance(part, np.ndarray):
                part.flags.writeable = False  # all schedulers share it
        return nodes

    def _ps(
        self, kind: NDArray[np.uint8], size: NDArray[np.uint64], ticks: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Unknown times follow from cluster and node: equal nodes on ranks are equal."""
        import numpy as np

        known = np.minimum(ticks, _LONGEST // self._ps_per_tick).astype(np.int64)
        ps = known * self._ps_per_tick
        dimensions = self._scenario.topology.dimensions
        latency = max(of.latency_ns for of in dimensions)
        narrowest = min(of.bytes_per_ns for of in dimensions)
        memory = self._scenario.memory
        for rows, latency_ns, bytes_per_ns in (
            (np.isin(kind, (COLLECTIVE, SEND, RECEIVE)), latency, narrowest),
            ((kind == MEMORY) & (ticks == 0), memory.latency_ns, memory.bytes_per_ns),
        ):
            ns = latency_ns + (size[rows] / bytes_per_ns if bytes_per_ns else 0.0)
            ps[rows] = np.minimum(ns * 1000, _LONGEST).astype(np.int64)
        return ps
