"""On the analytical network no link of a rank carries more than its rate; nothing else waits."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.cases import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, cluster, collectives, scenario
from tests.oracles.folded_jobs import folded_case
from yantra import _core
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.compile import compile
from yantra.result import Result
from yantra.run.simulate import run, simulate
from yantra.scenario import Scenario
from yantra.scenario.quirks import Quirk

FREE = frozenset({Quirk.LINKS_CARRY_ANYTHING})
RATE, LATENCY_NS = 50.0, 500.0  # bytes/ns


def on_switch(ranks: int, write: Any, **parts: Any) -> Scenario:
    return scenario(cluster(("switch", ranks, RATE, LATENCY_NS)), write, **parts)


SEEDS = [seed for seed in range(60) if folded_case(seed).semantics == "yantra"]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_port_is_busy_for_longer_than_the_run_nor_carries_more_than_its_rate(seed: int) -> None:
    case = folded_case(seed)
    result = run(compile(case), fold="off")
    rates = [dimension.bytes_per_ns for dimension in case.topology.dimensions]
    for link in result.outcome.links:
        rounding_ns = link.use.messages / 1000
        last_ns = result.outcome.last_tick / 1000
        assert link.use.bytes / rates[link.dimension] <= last_ns + rounding_ns
        assert link.use.busy_ticks / 1000 <= last_ns + rounding_ns


@pytest.mark.parametrize("fast", [60.0, 1e3, 1e9])
def test_a_message_that_queues_behind_a_fast_port_ends_after_its_turn(fast: float) -> None:
    """From rank 0 to 7 over a fast port, a faster one and a slow one, where 3 to 7 is before it."""
    size, latency_ns, slow = 10_000, 10.0, 8.0

    def write(trace: TraceBuilder, rank: int) -> None:
        if rank in (0, 3):
            trace.send(7, size, tag=rank)
        if rank == 7:
            trace.recv(0, size, tag=0)
            trace.recv(3, size, tag=3)

    dimensions = [("ring", 2, rate, latency_ns) for rate in (50.0, fast, slow)]
    assert makespan(scenario(cluster(*dimensions), write)) == 2 * size / slow + latency_ns


@pytest.mark.parametrize("seed", SEEDS)
def test_folded_runs_tell_of_the_same_ports(seed: int) -> None:
    model = compile(folded_case(seed))
    auto, whole = run(model), run(model, fold="off")
    assert auto.outcome.finish.tolist() == whole.outcome.finish.tolist()
    assert auto.links.as_dict() == whole.links.as_dict()
    assert auto.messages == whole.messages


@pytest.mark.parametrize("algorithm", ["ring", "halving_doubling"])
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_where_no_two_messages_want_a_port_the_formula_stands(algorithm: str, ranks: int) -> None:
    write = partial(_one, kind=ALL_REDUCE, size=1 << 20)
    case = on_switch(ranks, write, collectives=collectives(algorithm, chunks=3))
    taken = [simulate(case.replace(quirks=quirks)).finish_ps.tolist() for quirks in (None, FREE)]
    assert taken[0] == taken[1]


def _one(trace: TraceBuilder, rank: int, kind: CollectiveType, size: int) -> None:
    trace.collective(kind, size)


def makespan(case: Scenario) -> float:
    return simulate(case).makespan_ns


@pytest.mark.parametrize("kind", [ALL_REDUCE, ALL_GATHER, ALL_TO_ALL])
@pytest.mark.parametrize("active", [1, 4, 16])
def test_chunks_in_flight_do_not_multiply_a_link(kind: CollectiveType, active: int) -> None:
    size, ranks = 1 << 26, 8
    policies = collectives("ring" if kind != ALL_TO_ALL else "direct", chunks=16)
    policies = policies.replace(active_chunks=active, queues_per_dimension=active)
    write = partial(_one, kind=kind, size=size)
    taken = makespan(on_switch(ranks, write, collectives=policies))
    whole = size * ranks if kind == ALL_GATHER else size
    times = 2 if kind == ALL_REDUCE else 1
    assert taken >= times * whole * (ranks - 1) / ranks / RATE


def test_seven_senders_to_one_take_seven_times_as_long() -> None:
    size = 10**6

    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == 0:
            for other in range(1, 8):
                trace.recv(other, size, tag=other)
        else:
            trace.send(0, size, tag=rank)

    result = simulate(on_switch(8, write))
    assert result.makespan_ns == 7 * size / RATE + 2 * LATENCY_NS
    assert max(result.links.values("busy")) == pytest.approx(1, abs=0.01)
    other = simulate(on_switch(8, write, network="flow"))
    assert other.makespan_ns == pytest.approx(result.makespan_ns)


def test_a_root_sends_in_the_order_of_its_nodes() -> None:
    size = 10**6

    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == 0:
            for other in range(1, 4):
                trace.send(other, size, tag=other)
        else:
            trace.recv(0, size, tag=rank)

    ends = simulate(on_switch(4, write)).finish_ps.tolist()[1:]
    assert ends == [1000 * (k * size / RATE + 2 * LATENCY_NS) for k in (1, 2, 3)]


@pytest.mark.parametrize("shift", [1, 3, 6])
def test_relabelled_ranks_take_what_they_took(shift: int) -> None:
    def write(trace: TraceBuilder, rank: int, by: int) -> None:
        who = (rank - by) % 8
        name = [(at + by) % 8 for at in range(8)]
        if who in (0, 1):
            sent = trace.send(name[2], 1000 + 500 * who, tag=who)
            trace.recv(name[2], 700, tag=5 + who, after=sent)
        elif who == 2:
            for at in (0, 1):
                got = trace.recv(name[at], 1000 + 500 * at, tag=at)
                trace.send(name[at], 700, tag=5 + at, after=got)

    first, other = (
        simulate(on_switch(8, partial(write, by=by))).finish_ps.tolist() for by in (0, shift)
    )
    assert [other[(at + shift) % 8] for at in range(8)] == first


def test_a_replica_beside_it_changes_nothing() -> None:
    def write(trace: TraceBuilder, rank: int, groups: int) -> None:
        if rank // 4 < groups:
            trace.collective(ALL_TO_ALL, 1 << 20, group=str(1 + rank // 4))

    ends = [
        simulate(
            on_switch(
                8,
                partial(write, groups=groups),
                groups=((1, (0, 1, 2, 3)), (2, (4, 5, 6, 7))),
                collectives=collectives("direct", chunks=2),
            )
        ).finish_ps.tolist()[:4]
        for groups in (1, 2)
    ]
    assert ends[0] == ends[1]


def test_formulas_that_hold_nothing_to_a_rate_say_so() -> None:
    policies = collectives("ring", chunks=16)
    policies = policies.replace(active_chunks=16, queues_per_dimension=16)
    write = partial(_one, kind=ALL_REDUCE, size=1 << 26)
    case = on_switch(8, write, collectives=policies)

    def warnings(one: Scenario) -> str:
        return " ".join(simulate(one).warnings)

    assert warnings(case) == ""
    assert "times their rate" in warnings(case.replace(quirks=FREE))
    assert "take network: flow" in warnings(case.replace(network="ideal"))


def test_phases_that_are_met_are_played_from_where_they_are() -> None:
    def write(trace: TraceBuilder, rank: int, micros: int) -> None:
        trace.collective(ALL_REDUCE, 1 << 20)
        work = trace.compute(duration_micros=micros)
        trace.send((rank + 1) % 8, 50_000, tag=1, after=work)
        trace.recv((rank - 1) % 8, 50_000, tag=1)

    slower = 0
    for algorithm in ("ring", "direct", "direct2"):
        policies = collectives(algorithm, chunks=4)
        for micros in range(1, 60, 3):
            case = on_switch(8, partial(write, micros=micros), collectives=policies)
            model = compile(case)
            once, whole = run(model, fold="require"), run(model, fold="off")
            assert once.finish_ps.tolist() == whole.finish_ps.tolist(), (algorithm, micros)
            assert once.links.as_dict() == whole.links.as_dict(), (algorithm, micros)
            free: Result = simulate(case.replace(quirks=FREE))
            slower += whole.makespan_ns > free.makespan_ns
    assert slower > 5


def test_the_core_names_the_rule() -> None:
    traits = {level.name: level.traits for level in _core.network_levels()}
    assert "has_ports" in traits["analytical"]
    assert "has_ports" not in traits["flow"]
