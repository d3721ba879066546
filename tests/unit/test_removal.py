"""Models without a cause of time: what is left is exact, and equals its closed form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import ALL_REDUCE, cluster, collectives, scenario, traces
from yantra.base.errors import ConfigError
from yantra.chakra import TraceBuilder
from yantra.compile import compile, compile_without
from yantra.compile.removal import CAUSES
from yantra.result import Result
from yantra.run.removals import REMOVALS
from yantra.run.simulate import run
from yantra.scenario import ASTRA_SIM_RESOURCES, Custom, Device, RemoteMemory, Scenario, SharedBus
from yantra.scenario.quirks import Quirk

RING = cluster(("ring", 4, 50.0, 500.0))
KIB = 1024


def without(scenario: Scenario, *causes: str) -> Result:
    return run(compile_without(compile(scenario), causes))


def reduce(builder: TraceBuilder, rank: int) -> None:
    builder.collective(ALL_REDUCE, 400 * KIB)


def ring(**options: object) -> Scenario:
    """A ring all-reduce over 4: 6 messages of 102400 bytes; 3 of them are reduced."""
    options = {"endpoint_delay_ns": 20, **options}
    return scenario(RING, reduce, collectives=collectives(**options))  # type: ignore[arg-type]


WIRE_NS = 6 * 102400 / 50
HOPS_NS = 6 * 500
HAND_OVERS_NS = 7 * 20


@pytest.mark.parametrize(
    ("causes", "left_ns"),
    [
        ((), WIRE_NS + HOPS_NS + HAND_OVERS_NS),
        (("bandwidth",), HOPS_NS + HAND_OVERS_NS),
        (("latency",), WIRE_NS + HAND_OVERS_NS),
        (("hand_overs",), WIRE_NS + HOPS_NS),
        (("bandwidth", "latency"), HAND_OVERS_NS),
        (("bandwidth", "latency", "hand_overs"), 0),
        (("compute", "host", "peak", "remote_memory"), WIRE_NS + HOPS_NS + HAND_OVERS_NS),
    ],
)
def test_a_ring_loses_exactly_the_part_that_is_removed(
    causes: tuple[str, ...], left_ns: float
) -> None:
    assert without(ring(), *causes).makespan_ns == left_ns


def test_reductions_go_with_memory_bandwidth_and_by_themselves() -> None:
    device = Device(memory_bytes_per_s=300e9)
    all_of_it = scenario(RING, reduce, collectives=collectives(), device=device)
    assert run(compile(all_of_it)).makespan_ns == WIRE_NS + HOPS_NS + 3 * 3 * 102400 / 300
    for cause in ("reductions", "memory_bandwidth"):
        assert without(all_of_it, cause).makespan_ns == WIRE_NS + HOPS_NS


def test_the_shared_bus_is_a_hand_over() -> None:
    bus = SharedBus(l_ns=7, o_ns=5, g_ns=3, big_g_ns_per_byte=0.5)
    bound = ring(shared_bus=bus, local_reduction_delay_ns=4)
    plain = without(ring(), "hand_overs").makespan_ns
    assert run(compile(bound)).makespan_ns > plain
    assert without(bound, "hand_overs").makespan_ns == plain


def test_links_are_as_free_as_on_the_other_network_without_contention() -> None:
    def crossing(builder: TraceBuilder, rank: int) -> None:
        for peer in (0, 1, 3):
            if rank == 2:
                builder.recv(peer, 10**6, tag=peer)
            elif rank == peer:
                builder.send(2, 10**6, tag=peer)

    switch = cluster(("switch", 4, 50.0, 500.0))
    at_once = scenario(switch, crossing, quirks=[Quirk.LINKS_CARRY_ANYTHING])
    free = run(compile(at_once))
    assert free.makespan_ns == 2 * 500 + 10**6 / 50
    assert "contention" not in _offered(at_once)
    waits = {"analytical": 2, "flow": 2, "store_and_forward": 3}  # the last waits for whole ones
    for network, times in waits.items():
        turns = scenario(switch, crossing, network=network)
        assert run(compile(turns)).makespan_ns == free.makespan_ns + times * 10**6 / 50
        freed = without(turns, "contention")
        assert freed.makespan_ns == free.makespan_ns
        assert freed.dimensions.as_dict() == free.dimensions.as_dict()
        assert "contention" in _offered(turns)


def _offered(of: Scenario) -> set[str]:
    return {removal.name for removal in REMOVALS if removal.applies(of)}


def work(builder: TraceBuilder, rank: int) -> None:
    host = builder.compute("host", duration_micros=3, cpu=True)
    builder.compute("kernel", duration_micros=11, after=host)


@pytest.mark.parametrize(("cause", "left_ns"), [("compute", 3000), ("host", 11000)])
def test_kernels_and_host_work_go_separately(cause: str, left_ns: int) -> None:
    result = without(scenario(RING, work), cause)
    assert result.makespan_ns == left_ns
    assert result.ranks.values("compute_ns") == [11000 * (cause == "host")] * 4


@pytest.mark.parametrize(
    ("cause", "left_ns"), [("peak", 2000 + 500), ("memory_bandwidth", 100 + 1000)]
)
def test_the_roofline_has_two_sides(cause: str, left_ns: int) -> None:
    def kernels(builder: TraceBuilder, rank: int) -> None:
        bound_by_memory = builder.compute(num_ops=10**5, tensor_size=2 * 10**6)
        builder.compute(num_ops=10**6, tensor_size=5 * 10**5, after=bound_by_memory)

    device = Device(compute="roofline", peak_flops=1e12, memory_bytes_per_s=1e12)
    both = scenario(RING, kernels, device=device)
    assert run(compile(both)).makespan_ns == 2000 + 1000
    assert without(both, cause).makespan_ns == left_ns
    assert without(both, "peak", "memory_bandwidth").makespan_ns == 0


def test_remote_memory_takes_no_time_and_is_still_asked_one_by_one() -> None:
    def load(builder: TraceBuilder, rank: int) -> None:
        builder.memory_load(10**6)

    memory = RemoteMemory(kind="pool", latency_ns=100, bytes_per_ns=10.0)
    pool = scenario(RING, load, memory=memory)
    assert run(compile(pool)).makespan_ns == 4 * (100 + 10**5)
    assert without(pool, "remote_memory").makespan_ns == 0


def test_a_replay_loses_communication_with_both_parts_of_the_network() -> None:
    def recorded(builder: TraceBuilder, rank: int) -> None:
        builder.collective(ALL_REDUCE, 8, duration_micros=5)

    replay = scenario(RING, recorded, replay_only=True)
    assert without(replay, "bandwidth").makespan_ns == 5000
    assert without(replay, "bandwidth", "latency").makespan_ns == 0


@pytest.mark.parametrize("cause", CAUSES)
def test_whole_nanoseconds_stay_whole(cause: str) -> None:
    def both(builder: TraceBuilder, rank: int) -> None:
        reduce(builder, rank)
        work(builder, rank)

    upstream = scenario(
        RING,
        both,
        semantics="astra-sim",
        resources=ASTRA_SIM_RESOURCES,
        collectives=collectives(endpoint_delay_ns=10),
    )
    assert isinstance(without(upstream, cause).makespan_ns, int)


def test_the_scenario_is_the_one_that_was_asked() -> None:
    model = compile(ring())
    relieved = compile_without(model, ["latency"])
    assert relieved.scenario is model.scenario and relieved.graphs is model.graphs
    assert (model.without, relieved.without) == (frozenset(), {"latency"})


def test_an_unknown_cause_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        compile_without(compile(ring()), ["latencies"])
    assert str(caught.value) == ("without: no cause is named 'latencies'; did you mean 'latency'?")


def test_computations_of_traces_that_stand_for_a_collective_are_reductions(
    tmp_path: Path,
) -> None:
    def position(builder: TraceBuilder, rank: int) -> None:
        builder.compute(duration_micros=4)

    for rank, trace in enumerate(traces(4, position)):
        trace.write(tmp_path / f"own.{rank}.et")
    own = collectives().replace(all_reduce=Custom(prefix=str(tmp_path / "own")))
    given = scenario(RING, reduce, collectives=own)
    assert run(compile(given)).makespan_ns == 4000
    assert without(given, "compute").makespan_ns == 4000
    assert without(given, "reductions").makespan_ns == 0
