"""Completes traces whose collectives list fewer dimensions than the network has, as those of
ASTRA-sim Service's clients: missing entries are true if all present are.
"""

from __future__ import annotations

from yantra.chakra import Trace, read
from yantra.scenario.types import ChakraFiles, Scenario, Traces

_NAME = "involved_dim"


def completed(scenario: Scenario) -> tuple[Scenario, list[str]]:
    files = scenario.workload
    count = len(scenario.topology.dimensions)
    if count == 1 or not isinstance(files, ChakraFiles):
        return scenario, []
    if _complete(first := read(files.path(0)), count) is first:
        return scenario, []
    traces = tuple(
        _complete(read(files.path(rank)), count) for rank in range(scenario.topology.ranks)
    )
    workload = Traces(traces=traces, groups=files.groups)
    text = f"{_NAME} has fewer entries than the {count} dimensions; the others are taken as true"
    return scenario.replace(workload=workload), [text]


def _complete(trace: Trace, count: int) -> Trace:
    nodes, changed = [], False
    for node in trace:
        given = node.get(_NAME)
        if isinstance(given, tuple) and 0 < len(given) < count and all(given):
            node[_NAME] = (True,) * count
            changed = True
        nodes.append(node)
    return Trace(nodes, trace.metadata) if changed else trace
