"""Runs a job's traces on a stated cluster, by default a switch of 400 Gb/s and 500 ns per link with
ring collectives and a roofline of 250 TFLOP/s and 2 TB/s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, DeadlockError, YantraError
from yantra.base.whole_numbers import whole
from yantra.chakra import NodeType, Trace
from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    Collectives,
    Device,
    Dimension,
    RemoteMemory,
    Scenario,
    Topology,
    Traces,
)
from yantra.tracing.inspect.validate import Finding, Report

STATED = (
    "1 switch, 400 Gb/s and 500 ns per link, ring collectives, ASTRA-sim's semantics; "
    "computations take their recorded time"
)
STATED_ROOFLINE = STATED.replace(
    "computations take their recorded time", "roofline of 250 TFLOP/s and 2 TB/s"
)
_FLOPS, _MEMORY_BYTES_PER_S = 250e12, 2e12
_BYTES_PER_NS, _LATENCY_NS = 50.0, 500.0


class Trial(NamedTuple):
    """Makespan, bytes by group and by dimension."""

    cluster: str
    makespan_ns: float
    group_bytes: dict[str, int]
    network_bytes: list[int]


def try_out(
    traces: Sequence[Trace],
    groups: Mapping[str, Sequence[int]],
    scenario: Scenario | None = None,
) -> Trial:
    """Run one trace per rank; `scenario` replaces our cluster and policies.

    A lone trace runs on two ranks, which form every group. Raises as a run, and ConfigError where a
    group's name is no number.
    """
    from yantra.run.simulate import simulate

    ranks = list(traces)
    if len(ranks) == 1 and scenario is None:
        ranks, groups = ranks * 2, dict.fromkeys(groups, (0, 1))
    workload = Traces(traces=tuple(ranks), groups=numbered(groups))
    base = stated_scenario(ranks, workload) if scenario is None else scenario
    result = simulate(base if scenario is None else base.replace(workload=workload))
    return Trial(
        _described(base) if scenario is None else "as the scenario says",
        result.makespan_ns,
        _group_bytes(result),
        [use.bytes for use in result.outcome.dimensions],
    )


def try_order(report: Report) -> None:
    """Where timing decides a faultless job's order, see whether the stated run ends.

    Adds a finding or remark.
    """
    if not (report.valid and report.left_to_timing and report.ranks > 1) or report.load is None:
        return
    try:
        tried = try_out(report.load(), report.groups)
    except DeadlockError as error:
        text = f"on the stated cluster ({STATED}) the job does not end: {error}"
        report.add(Finding("error", "deadlock-in-trial", "order", None, None, "", text))
    except YantraError as error:
        report.remark(f"trial run: could not be made: {error}")
    else:
        report.remark(f"trial run: the job ends on the stated cluster: {tried.cluster}")


def stated_scenario(traces: Sequence[Trace], workload: Traces) -> Scenario:
    roofline = not any(any(trace.native.duration_micros) for trace in _distinct(traces))
    device = Device(
        peak_flops=_FLOPS,
        memory_bytes_per_s=_MEMORY_BYTES_PER_S,
        compute="roofline" if roofline and _has_operations(traces) else "recorded",
    )
    ring = ("ring",)
    return Scenario(
        workload=workload,
        topology=Topology(
            dimensions=(
                Dimension(
                    kind="switch",
                    size=len(traces),
                    bytes_per_ns=_BYTES_PER_NS,
                    latency_ns=_LATENCY_NS,
                ),
            )
        ),
        device=device,
        memory=RemoteMemory(kind="per_npu", latency_ns=1000, bytes_per_ns=100.0),
        collectives=Collectives(
            all_reduce=ring, reduce_scatter=ring, all_gather=ring, all_to_all=ring
        ),
        resources=ASTRA_SIM_RESOURCES,
        semantics="astra-sim",
    )


def numbered(groups: Mapping[str, Sequence[int]]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    for name in groups:
        if not whole(name):
            raise ConfigError(f"group {name!r}", "needs a positive whole number as its name to run")
    return tuple(sorted((int(name), tuple(ranks)) for name, ranks in groups.items()))


def _described(scenario: Scenario) -> str:
    return STATED_ROOFLINE if scenario.device.compute == "roofline" else STATED


def _distinct(traces: Sequence[Trace]) -> list[Trace]:
    return list({id(trace): trace for trace in traces}.values())


def _has_operations(traces: Sequence[Trace]) -> bool:
    # A roofline can time every computation.
    for trace in _distinct(traces):
        graph = trace.graph(merge_duplicates=True)
        for kinds in (graph.num_ops.kind, graph.tensor_size.kind):
            if NodeType.COMP in graph.type and not len(kinds):
                return False
            if any(not k for k, t in zip(kinds, graph.type, strict=False) if t == NodeType.COMP):
                return False
    return True


def _group_bytes(result: Any) -> dict[str, int]:
    table = result.collectives
    sums: Counter[str] = Counter()
    for group, size in zip(table.values("group"), table.values("size_bytes"), strict=True):
        sums[group or "0"] += size
    return dict(sums)
