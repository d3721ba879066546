"""The order of a scheduler folds, and keeps the bounds of list scheduling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import ALL_REDUCE, cluster, scenario
from tests.oracles.folded_runs import cases, compared
from yantra.chakra import TraceBuilder
from yantra.compile import compile
from yantra.run.simulate import simulate
from yantra.scenario import Collectives, Resources
from yantra.schedulers.scheduler import Nodes, Scheduler

PAIR = cluster(("ring", 2, 50.0, 500.0))


class Mixed(Scheduler):
    def priorities(self, nodes: Nodes) -> Any:
        return (nodes.ps // 1000 * 7 + nodes.bytes.astype(np.int64) * 3 + nodes.kind) % 11


class Alike(Scheduler):
    def priorities(self, nodes: Nodes) -> Any:
        return np.full(len(nodes), 5)


SCHEDULERS = ("critical_path", "earliest_needed", Mixed)


@pytest.mark.parametrize(
    ("kind", "seeds", "folded", "skipped"),
    [
        ("folded", range(60), 63, 0),
        ("repeated", range(60), 66, 136),
        ("pipelined", range(6), 51, 0),
        ("sliding", range(12), 87, 264),
    ],
)
def test_a_folded_run_in_the_order_of_a_scheduler_is_the_whole_one(
    kind: str, seeds: range, folded: int, skipped: int
) -> None:
    runs = [
        compared(compile(one), f"{name}, {scheduler}")
        for name, case in cases(kind, seeds)
        if case.semantics == "yantra"
        for scheduler in SCHEDULERS
        for one in [case.replace(scheduler=scheduler, collectives=lifo(case.collectives))]
    ]
    done = [run for run in runs if run is not None]
    assert len(done) >= folded
    assert sum(run.skipped for run in done) >= skipped


def lifo(of: Collectives) -> Collectives:
    return of.replace(priority="lifo")


Graph = list[tuple[int, list[int]]]
"""Microseconds and parents of each kernel."""


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    made: Graph = []
    for at in range(draw(st.integers(1, 25))):
        earlier = st.lists(st.integers(max(0, at - 6), at - 1), max_size=3, unique=True)
        made.append((draw(st.integers(0, 20)), draw(earlier) if at else []))
    return made


def makespan_us(graph: Graph, streams: int, scheduler: Any) -> float:
    def write(trace: TraceBuilder, rank: int) -> None:
        nodes: list[Any] = []
        for micros, parents in graph:
            after = [nodes[parent] for parent in parents]
            nodes.append(trace.compute(duration_micros=micros, after=after))

    resources = Resources(compute_streams=streams)
    case = scenario(PAIR, write, resources=resources, scheduler=scheduler)
    return simulate(case).makespan_ns / 1000


@given(graphs(), st.integers(1, 3), st.sampled_from(SCHEDULERS))
def test_no_list_schedule_beats_its_bound_or_takes_longer_than_grahams(
    graph: Graph, streams: int, scheduler: Any
) -> None:
    """Graham, "Bounds on multiprocessing timing anomalies", 1969."""
    longest: list[int] = []
    for micros, parents in graph:
        longest.append(micros + max((longest[parent] for parent in parents), default=0))
    work, path = sum(micros for micros, _ in graph), max(longest)
    took = makespan_us(graph, streams, scheduler)
    assert max(path, work / streams) <= took + 1e-9
    assert took <= work / streams + (1 - 1 / streams) * path + 1e-9


@given(graphs(), st.integers(1, 3))
def test_equal_priorities_are_the_order_of_ids(graph: Graph, streams: int) -> None:
    assert makespan_us(graph, streams, Alike) == makespan_us(graph, streams, "in_order")


def test_the_critical_path_is_found_where_ids_hide_it() -> None:
    graph: Graph = [(5, []) for _ in range(6)] + [(10, []), (10, [6]), (10, [7])]
    assert makespan_us(graph, 2, "critical_path") == 30
    assert makespan_us(graph, 2, "in_order") == 45


def test_what_is_needed_first_is_reduced_first() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        reduced = [trace.collective(ALL_REDUCE, 1 << 20) for _ in range(4)]
        last: Any = ()
        for node in reversed(reduced):
            last = trace.compute(duration_micros=1, after=(node, last) if last else node)

    def order(scheduler: str) -> list[int]:
        rows = simulate(scenario(PAIR, write, scheduler=scheduler)).nodes.as_dict()
        return [int(start) for start in rows["start_ns"][:4]]

    in_order, needed = order("in_order"), order("earliest_needed")
    assert in_order == sorted(in_order)
    assert needed == sorted(needed, reverse=True)
