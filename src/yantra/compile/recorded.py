"""Warns where semantics misreads recorded traces: serialised streams, delays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from yantra.base.text import count
from yantra.chakra.schema import NodeType
from yantra.compile.graphs import Graphs
from yantra.compile.kernels import needs_of
from yantra.scenario import Scenario
from yantra.tracing.recorded import (
    MANY_DELAYS,
    ONE_EACH,
    ONE_EACH_IN_WORDS,
    Recorded,
    Slots,
    recorded,
    unsized,
)

_SHOWN = 0.01
_REMEDY = (
    '`"replay-only": 1` in the system file (`replay_only: true` in a scenario) takes everything as '
    "recorded, collectives too; `semantics: yantra` without slots in `resources` keeps what "
    "overlapped and simulates collectives"
)


def tell(scenario: Scenario, graphs: Graphs) -> list[str]:
    slots = _slots(scenario)
    found = [
        (source, recorded(graph, slots))
        for graph, source in zip(graphs.distinct, graphs.sources, strict=True)
        if graph.complete_order
    ]
    takes_recorded = scenario.device.compute == "recorded"
    why = ONE_EACH_IN_WORDS if slots == ONE_EACH else _in_words(slots)
    told = list(_warnings(found, why, takes_recorded=takes_recorded))
    told += _communication(graphs, "communication" if scenario.semantics == "yantra" else "compute")
    if found and scenario.machine.name:
        graphs.kept = 1.0 if takes_recorded else _kept(scenario, graphs)
        told.append(
            f"{found[0][0]}{_others(found)}: {_keeps(graphs.kept, takes_recorded)} the recorded "
            f"time, that of the machine it was recorded on, not of {scenario.machine.name}"
        )
    return told


def _keeps(kept: float, takes_recorded: bool) -> str:
    if takes_recorded:
        return "kernels and host work keep"
    if not kept:
        return "host work keeps"
    share = f"{100 * kept:.0f}" if kept >= _SHOWN else "less than 1"
    return f"host work, and kernels without FLOPs or bytes ({share} % of kernel time), keep"


def _kept(scenario: Scenario, graphs: Graphs) -> float:
    """The share of recorded kernel time that no model is asked for (workload/kernels.cpp)."""
    if scenario.replay_only:
        return 1.0
    needs = needs_of(scenario.device)
    kept = of_all = 0
    for graph, ranks, _ in graphs.counted():
        if not graph.complete_order:
            continue
        kinds, durations = np.asarray(graph.type), np.asarray(graph.duration_micros)
        here = kinds == NodeType.COMP
        if len(graph.is_cpu_op.value):
            here &= np.asarray(graph.is_cpu_op.value) == 0
        lacks = np.zeros(len(kinds), dtype=bool)
        for name, column in (("flops", graph.num_ops), ("bytes", graph.tensor_size)):
            if name in needs:
                lacks |= np.asarray(column.kind) == 0 if len(column.kind) else True
        for node in np.flatnonzero(here & (durations > 0)).tolist():
            if graph.name(node) != "delay" and not graph.communicates(node):
                of_all += ranks * int(durations[node])
                kept += ranks * int(durations[node]) * bool(lacks[node])
    return kept / of_all if of_all else 0.0


def _communication(graphs: Graphs, counts_as: str) -> list[str]:
    pairs = zip(graphs.distinct, graphs.sources, strict=True)
    found = [(source, unsized(graph)) for graph, source in pairs if graph.complete_order]
    known = [(source, kernels) for source, kernels in found if kernels is not None]
    if not known:
        return []
    source, worst = max(known, key=lambda item: item[1].us)
    others = f", and {count(len(known) - 1, 'more trace')}" if len(known) > 1 else ""
    return [f"{source}{others}: {worst.in_words(counts_as)}"]


def _slots(scenario: Scenario) -> Slots:
    # What holds back a trace with its own order (native/workload/slots.cpp).
    if scenario.replay_only:
        return Slots()
    resources = scenario.resources
    return Slots(resources.cpu_slots or 0, resources.compute_streams or 0)


def _in_words(slots: Slots) -> str:
    limits = [f"{limit} for {kind}" for kind, limit in slots._asdict().items() if limit]
    return f"a rank has the slots {', '.join(limits)}"


def _warnings(
    found: list[tuple[str, Recorded]], why: str, *, takes_recorded: bool
) -> Iterator[str]:
    longer = [item for item in found if item[1].is_serialised]
    if longer:
        source, worst = max(longer, key=lambda item: item[1].times_as_long)
        yield f"{source}{_others(longer)}: {worst.serialised(why, _REMEDY)}"
    late = [item for item in found if item[1].delay_share > MANY_DELAYS]
    if late and takes_recorded:
        source, worst = max(late, key=lambda item: item[1].delay_share)
        yield f"{source}{_others(late)}: {worst.delayed()}"


def _others(found: list[tuple[str, Recorded]]) -> str:
    return f", and {count(len(found) - 1, 'more trace')}" if len(found) > 1 else ""
