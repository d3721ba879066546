"""Random workloads: the core and the slow oracle start and end every node at the same times."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import Run, cluster
from tests.oracles.workload import Rules, Step, Workload
from yantra.base.errors import DeadlockError
from yantra.base.fields import Plugin, Section, Whole
from yantra.base.records import Record
from yantra.chakra import Node, NodeType, Trace, TraceBuilder
from yantra.compile import compile
from yantra.run.simulate import run_native
from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    Collectives,
    RemoteMemory,
    Resources,
    Scenario,
    Traces,
)
from yantra.scenario.quirks import Quirk
from yantra.schedulers.scheduler import Nodes, Scheduler

RANKS = 4
LATENCY, BANDWIDTH = 37.3, 3.0
MEMORY = RemoteMemory(kind="per_npu", latency_ns=20, bytes_per_ns=7.0)
RING = cluster(("ring", RANKS, BANDWIDTH, LATENCY))


def hops(src: int, dst: int) -> int:
    return min((dst - src) % RANKS, (src - dst) % RANKS)


def rules(semantics: str, resources: Resources) -> Rules:
    faithful = semantics == "astra-sim"
    engines = "communication" if faithful else "engines"
    slot = {"compute": "gpu", "send": "communication", "memory": engines, "skip": engines}
    capacity = {
        "cpu": resources.cpu_slots,
        "gpu": resources.compute_streams,
        "communication": 1,
        "engines": resources.copy_engines,
    }
    return Rules(
        slot,
        capacity,
        wire=lambda src, dst, size: ticks(hops(src, dst) * LATENCY + size / BANDWIDTH, faithful),
        leaving=lambda size: ticks(size / BANDWIDTH, faithful),
        send_ends_on_arrival=faithful,
        skips_wake=not faithful,
    )


def ticks(ns: float, faithful: bool) -> int:
    return floor(ns) if faithful else floor(ns * 1000 + 0.5)


def recorded_ticks(micros: int, faithful: bool) -> int:
    return (micros * 1000 or 1) if faithful else micros * 1_000_000


def memory_ticks(size: int, faithful: bool) -> int:
    latency = MEMORY.latency_ns * (1 if faithful else 1000)
    return latency + ticks(size / MEMORY.bytes_per_ns, faithful)


@st.composite
def workloads(draw: st.DrawFn, faithful: bool) -> list[list[Step]]:
    """Nodes in an order in which they could run one by one, so that no two wait for each other."""
    ranks: list[list[Step]] = [[] for _ in range(RANKS)]
    ids = [draw(st.permutations(range(24))) for _ in range(RANKS)]

    def add(rank: int, kind: Any, **fields: Any) -> None:
        earlier = [step.id for step in ranks[rank]]
        parents = draw(st.frozensets(st.sampled_from(earlier), max_size=2)) if earlier else ()
        new = ids[rank][len(ranks[rank])]
        ranks[rank].append(Step(new, kind, frozenset(parents), **fields))

    for _ in range(draw(st.integers(1, 20))):
        kind = draw(st.sampled_from(["compute", "message", "message", "memory", "skip"]))
        rank = draw(st.integers(0, RANKS - 1))
        if kind == "compute":
            cpu, micros = draw(st.booleans()), draw(st.integers(0, 2))
            add(rank, kind, ticks=recorded_ticks(micros, faithful), cpu=cpu)
        elif kind == "memory":
            add(rank, kind, ticks=memory_ticks(draw(st.sampled_from([0, 90, 4000])), faithful))
        elif kind == "skip":
            add(rank, kind)
        else:
            peer = (rank + draw(st.integers(1, RANKS - 1))) % RANKS
            fields = {"tag": draw(st.integers(0, 1)), "size": draw(st.sampled_from([1, 64, 5000]))}
            add(rank, "send", peer=peer, **fields)
            add(peer, "recv", peer=rank, **fields)
    return ranks


def trace_of(rank: int, steps: list[Step], faithful: bool) -> Trace:
    nodes = []
    for step in steps:
        trace = TraceBuilder(rank=rank, first_id=step.id)
        if step.kind == "compute":
            micros = step.ticks // 1000 if faithful else step.ticks // 1_000_000
            node = trace.compute(duration_micros=micros, cpu=step.cpu)
        elif step.kind == "memory":
            size = next(s for s in (0, 90, 4000) if memory_ticks(s, faithful) == step.ticks)
            node = trace.memory_load(size)
        elif step.kind == "send":
            node = trace.send(step.peer, step.size, tag=step.tag)
        elif step.kind == "recv":
            node = trace.recv(step.peer, step.size, tag=step.tag)
        else:
            node = Node(step.id, "nothing", NodeType.INVALID)
        nodes.append(node.depends_on(*sorted(step.parents)))
    return Trace(nodes)


class Seed(Record):
    seed: int = 0


class Drawn(Scheduler):
    options = Section(Seed, {"seed": ("seed", Whole(), "of the priorities")})

    def priorities(self, nodes: Nodes) -> Any:
        return np.array([drawn(int(id), self.given.seed) for id in nodes.id])


def drawn(id: int, seed: int) -> int:
    return (id + 1) * (seed + 5) % 17 - 8


def agree(
    steps: list[list[Step]], semantics: str, resources: Resources, seed: int | None = None
) -> None:
    faithful = semantics == "astra-sim"
    scenario = Scenario(
        workload=Traces(traces=tuple(trace_of(r, s, faithful) for r, s in enumerate(steps))),
        topology=RING,
        memory=MEMORY,
        collectives=Collectives(),
        resources=resources,
        semantics=semantics,  # type: ignore[arg-type]
        quirks=None if faithful else frozenset({Quirk.LINKS_CARRY_ANYTHING}),
    )
    if seed is not None:
        scenario = scenario.replace(scheduler=Plugin(kind=Drawn, options=(("seed", seed),)))
        steps = [[of._replace(priority=drawn(of.id, seed)) for of in rank] for rank in steps]
    model = compile(scenario)
    oracle = Workload(steps, rules(semantics, resources))
    oracle.run()
    if any(rank.finished_at is None for rank in oracle.ranks):
        with pytest.raises(DeadlockError):
            run_native(model)
        return
    done = Run(model, run_native(model), [])
    first = done.outcome.first_node.tolist()
    for at, rank in enumerate(oracle.ranks):
        ids = sorted(rank.steps)
        here = slice(first[at], first[at + 1])
        assert done.outcome.start.tolist()[here] == [rank.started[id] for id in ids]
        assert done.outcome.end.tolist()[here] == [rank.ended[id] for id in ids]
        assert done.outcome.finish[at] == rank.finished_at


@settings(max_examples=100)
@given(workloads(faithful=True))
def test_the_core_agrees_with_the_oracle_under_astra_sims_semantics(
    steps: list[list[Step]],
) -> None:
    agree(steps, "astra-sim", ASTRA_SIM_RESOURCES)


@settings(max_examples=100)
@given(workloads(faithful=False), st.integers(1, 2), st.integers(1, 2), st.integers(1, 2))
def test_the_core_agrees_with_the_oracle_under_native_semantics(
    steps: list[list[Step]], cpu_slots: int, streams: int, engines: int
) -> None:
    resources = Resources(cpu_slots=cpu_slots, compute_streams=streams, copy_engines=engines)
    agree(steps, "yantra", resources)


@settings(max_examples=100)
@given(workloads(faithful=False), st.integers(1, 2), st.integers(1, 2), st.integers(0, 1000))
def test_the_core_agrees_with_the_oracle_in_the_order_of_a_scheduler(
    steps: list[list[Step]], cpu_slots: int, streams: int, seed: int
) -> None:
    agree(steps, "yantra", Resources(cpu_slots=cpu_slots, compute_streams=streams), seed)


@pytest.mark.parametrize("ns", [0.0, 0.0004, 0.0005, 2 / 3, 1e6 / 3])
def test_the_oracles_rounding_is_to_the_nearest_picosecond(ns: float) -> None:
    assert abs(ticks(ns, faithful=False) - ns * 1000) <= 0.5
    assert ticks(ns, faithful=True) <= ns < ticks(ns, faithful=True) + 1 <= ceil(ns) + 1
