"""The phase of a node: the attribute `phase` of its trace.

Yantra's traces have it (forward, dgrad, wgrad, recompute, optimizer); others may.
"""

from __future__ import annotations

from yantra.chakra import Trace, read
from yantra.scenario import ChakraFiles, Traces
from yantra.scenario.training import templates_of
from yantra.scenario.types import Workload
from yantra.workloads.templates import Workload as Templated

_SHOWN_AS = {"dgrad": "backward", "wgrad": "backward"}


class Phases:
    """`phases(rank, id)` is a node's phase; empty where there is none.

    Gradients of inputs and of weights are one phase, the backward pass.
    """

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._templates = _templates(workload)
        self._by_trace: dict[str | int, dict[int, str]] = {}

    def __call__(self, rank: int | None, node: int | None) -> str:
        if rank is None or node is None:
            return ""
        key = self._templates.class_of(rank).template if self._templates else rank
        if key not in self._by_trace:
            self._by_trace[key] = _phases(self._trace(rank))
        return self._by_trace[key].get(node, "")

    def _trace(self, rank: int) -> Trace:
        if self._templates:
            return self._templates.template(self._templates.class_of(rank).template)
        if isinstance(self._workload, ChakraFiles):
            return read(self._workload.path(rank))
        if isinstance(self._workload, Traces):
            trace: Trace = self._workload.traces[rank]
            return trace
        raise TypeError(f"no traces in {self._workload!r}")


def _templates(workload: Workload) -> Templated | None:
    if isinstance(workload, ChakraFiles | Traces):
        return None
    return templates_of(workload)


def _phases(trace: Trace) -> dict[int, str]:
    native = trace.native
    found = {}
    for record, node in enumerate(native.id):
        for name, _, value, _ in native.attributes(record):
            if name == "phase" and isinstance(value, str):
                found[node] = _SHOWN_AS.get(value, value)
    return found
