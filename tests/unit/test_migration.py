"""Tiers whose data moves: the least recently used makes room, and bytes are conserved."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import Run, cluster, run, scenario
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.fields import Plugin
from yantra.chakra import TraceBuilder
from yantra.compile import compile
from yantra.compile.accesses import ordered
from yantra.memory.migration import MOST_BLOCKS, Touch, migrated
from yantra.memory.placement import Data, Tier
from yantra.run.simulate import simulate
from yantra.scenario import RemoteMemory, Scenario, Templates, cluster_parts
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

TWO = cluster(("ring", 2, 50.0, 100.0))
GRANULE = 100


def by_stack_distance(touches: list[Touch], rooms: list[int]) -> list[list[int]]:
    """The distance of a block, the number of other blocks touched since, gives its tier."""
    stack: list[tuple[int, int]] = []
    found = []
    for one in [*touches, *touches]:
        taken = [0] * len(rooms)
        for at in range(-(-one.size_bytes // GRANULE)):
            block = (one.data, at)
            distance = stack.index(block) if block in stack else 0
            tier = next(t for t in range(len(rooms)) if distance < sum(rooms[: t + 1]))
            taken[tier] += 1
            if block in stack:
                stack.remove(block)
            stack.insert(0, block)
        found.append(taken)
    return found[len(touches) :]


SEQUENCES = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=25)


@given(SEQUENCES, st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
def test_a_block_is_in_the_tier_of_its_stack_distance_and_what_makes_room_moves_down(
    accesses: list[tuple[int, bool]], fast: int, middle: int, seed: int
) -> None:
    draw = random.Random(seed)
    blocks = [draw.randint(1, 4) for _ in range(6)]
    touches = [Touch(data, blocks[data] * GRANULE, store) for data, store in accesses]
    rooms = [fast, middle, 24]
    for one, moved, taken in zip(
        touches, migrated(touches, rooms, GRANULE), by_stack_distance(touches, rooms), strict=True
    ):
        below = [n * GRANULE for n in taken[1:]]
        into_fast = one.size_bytes if one.is_store else sum(below)
        left_fast = sum(below)  # as many blocks as come in, once the tiers are full
        assert moved.written[0] == into_fast
        if not one.is_store:
            assert moved.read[0] == taken[0] * GRANULE + moved.written[1]
            assert moved.read[1] == below[0] + moved.written[2]
            assert moved.read[2] == below[1]
        assert moved.written[1] <= left_fast
        assert sum(moved.written[1:]) == sum(moved.read) - (0 if one.is_store else one.size_bytes)


def test_data_in_turn_that_is_one_block_more_than_fits_misses_each_time() -> None:
    touches = [Touch(data, GRANULE, is_store=False) for data in range(4)]
    assert all(one.read == [GRANULE, GRANULE] for one in migrated(touches, [3, 9], GRANULE))
    assert all(one.read == [GRANULE, 0] for one in migrated(touches, [4, 9], GRANULE))


def tiers(fast: int, slow: int = 10**9, **options: Any) -> RemoteMemory:
    both = (
        Tier(name="host", capacity_bytes=fast, read_bytes_per_ns=10.0, latency_ns=5.0),
        Tier(name="ssd", capacity_bytes=slow, read_bytes_per_ns=2.0, write_bytes_per_ns=1.0),
    )
    given = {"tiers": both, "policy": "lru", "granule_bytes": GRANULE} | options
    return RemoteMemory(kind=Plugin(kind="tiers", options=tuple(given.items())))


def loads(trace: TraceBuilder, _: int) -> None:
    last: Any = ()
    for name in "abab":
        last = trace.memory_load(1000, name=f"load {name}", after=last)


def times(made: Run) -> list[float]:
    return [float(end - start) for start, end in (made.span(0, node) for node in range(4))]


def test_what_fits_into_the_fastest_tier_takes_its_latency_and_bandwidth() -> None:
    assert times(run(TWO, loads, memory=tiers(2000))) == [105.0] * 4


def test_a_miss_reads_below_writes_above_and_moves_what_makes_room() -> None:
    # 1000 bytes each: read from ssd, write to host; the other's: read from host, write to ssd.
    one_port = 1000 / 2 + 1000 / 10 + 1000 / 10 + 1000 / 1 + 5
    assert times(run(TWO, loads, memory=tiers(1000))) == [one_port] * 4
    of_ssd = 1000 / 2 + 1000 / 1
    assert times(run(TWO, loads, memory=tiers(1000, ports="each"))) == [of_ssd] * 4


def test_partly_filled_blocks_hold_a_granule_and_move_what_is_in_them() -> None:
    def write(trace: TraceBuilder, _: int) -> None:
        for name in "abab":
            trace.memory_load(150, name=f"load {name}")

    # Two blocks each, one and a half granules of them; three blocks fit above, four are needed.
    (one,) = {
        tuple(m.read)
        for m in migrated([Touch(0, 150, False), Touch(1, 150, False)], [3, 9], GRANULE)
    }
    assert one == (150, 150)
    assert run(TWO, write, memory=tiers(400)).finish[0] == 4 * (150 / 10 + 5)


def test_a_load_is_of_what_a_store_before_it_stored_and_a_store_reuses_what_was_loaded() -> None:
    def write(trace: TraceBuilder, _: int) -> None:
        first = trace.memory_store(8, name="store activations of 0")
        second = trace.memory_store(8, name="store activations of 0")
        trace.memory_load(8, name="load activations of 0", after=first)
        third = trace.memory_store(8, name="store activations of 0")
        trace.memory_load(8, name="load activations of 0", after=second)
        trace.memory_load(8, name="load activations of 0", after=third)
        state = trace.memory_load(9, name="load state of 0")
        trace.memory_store(9, name="store state of 0", after=state)

    graph = compile(scenario(TWO, write, memory=tiers(1000))).graphs.of(0)
    found = ordered(graph)
    assert [one.data for one in found.touches] == [0, 1, 0, 0, 1, 0, 2, 2]
    assert found.names == ["activations of 0", "activations of 0", "state of 0"]


def offloading(fast: int, slow: int, **options: Any) -> Scenario:
    plan = Plan(
        tp=2,
        dp=4,
        global_batch=8,
        sequence_parallel=True,
        zero=1,
        offload_activations=True,
        offload_optimizer=True,
    )
    both = (
        Tier(name="host", capacity_bytes=fast, read_bytes_per_ns=50.0),
        Tier(name="ssd", capacity_bytes=slow, read_bytes_per_ns=7.0, write_bytes_per_ns=4.0),
    )
    given = {"tiers": both, "policy": "lru"} | options
    parts = cluster_parts("hgx-h100", 8)
    parts["memory"] = RemoteMemory(kind=Plugin(kind="tiers", options=tuple(given.items())))
    return Scenario(workload=Templates(workload=train("llama3-8b", plan)), **parts)


def test_a_step_takes_no_longer_the_more_of_it_fits_above() -> None:
    found = [simulate(offloading(gib << 30, 1 << 40)).makespan_ns for gib in (8, 24, 64)]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


def test_data_that_no_tier_has_room_for_is_named_with_its_stage() -> None:
    with pytest.raises(UnsupportedError, match=r"tiers hold 2 GiB .*activations of layers\.\d+ "):
        compile(offloading(1 << 30, 1 << 30))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"data": (Data(name="all", size_bytes=1),)}, r"options\.data: not with policy lru"),
        ({"granule_bytes": 4000}, r"options\.granule: .* does not fit into host"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        compile(scenario(TWO, loads, memory=tiers(3000, **options)))


def test_more_blocks_than_can_be_simulated_are_refused() -> None:
    touches = [Touch(0, (MOST_BLOCKS + 1) * GRANULE, is_store=False)]
    with pytest.raises(ConfigError, match="give a larger granule"):
        migrated(touches, [1, 2], GRANULE)
