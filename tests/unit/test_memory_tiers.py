"""Tiers of memory, what is in them, and layers whose data is fetched ahead."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import cluster, run
from yantra import scenario as scenarios
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.fields import Plugin
from yantra.chakra import TraceBuilder
from yantra.compile import compile
from yantra.memory import model_of
from yantra.memory.model import Speeds, accesses
from yantra.memory.placement import Data, Tier, place, shares
from yantra.memory.prefetch import exposed_ns, prefetched
from yantra.scenario import RemoteMemory
from yantra.scenario.types import Scenario

GIB = 1 << 30
HYBRID = Path(__file__).parents[1] / "golden" / "data" / "hybrid_bandwidth.csv"
ROWS = list(csv.reader(HYBRID.read_text().splitlines()[1:]))
TWO = cluster(("ring", 2, 50.0, 100.0))


def tier(name: str, size: int, rate: float, latency: float = 0.0, write: Any = None) -> Tier:
    return Tier(
        name=name,
        capacity_bytes=size,
        read_bytes_per_ns=rate,
        write_bytes_per_ns=write,
        latency_ns=latency,
    )


def time_ns(tiers: tuple[Tier, ...], size: int, data: int, **given: Any) -> tuple[float, float]:
    options = {"tiers": tiers, "data": (Data(name="all", size_bytes=data),)} | given
    model = model_of(Plugin(kind="tiers", options=tuple(options.items())))
    load, store = model.access(accesses([size] * 2, [False, True]), Speeds(0, 0.0))
    return float(load), float(store)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}-{row[2]}")
def test_two_tiers_have_the_effective_bandwidth_of_comet(row: list[str]) -> None:
    part, local, far, expected = map(float, row)
    here = round(part * 10**12)
    there = 10**12 - here
    data = [Data(name="here", size_bytes=here, tier="local")]
    data += [Data(name="there", size_bytes=there, tier="far")] if there else []
    tiers = (tier("local", here, local), tier("far", 10**12, far))
    options = (("tiers", tiers), ("data", tuple(data)))
    model = model_of(Plugin(kind="tiers", options=options))
    taken = model.access(accesses([10**9], [False]), Speeds(0, 0.0))[0]
    assert 10**9 / taken == pytest.approx(expected, rel=1e-9)


def test_one_tier_takes_latency_and_bytes_over_bandwidth() -> None:
    assert time_ns((tier("host", GIB, 50.0, 7.0, 25.0),), 1000, 1) == (27.0, 47.0)


def test_tiers_behind_one_port_add_up_and_others_overlap() -> None:
    both = (tier("host", 600, 10.0, 5.0), tier("ssd", 10**6, 1.0, 50.0))
    assert time_ns(both, 1000, 1000) == (pytest.approx(5 + 60 + 50 + 400),) * 2
    assert time_ns(both, 1000, 1000, ports="each") == (pytest.approx(450),) * 2


def test_a_tier_with_nothing_in_it_costs_no_latency() -> None:
    both = (tier("host", 2000, 10.0, 5.0), tier("ssd", 10**6, 1.0, 50.0))
    assert time_ns(both, 1000, 1000)[0] == pytest.approx(105)


@given(
    st.lists(st.tuples(st.integers(1, 100), st.floats(0, 9)), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(1, 200), st.floats(0.1, 99)), min_size=1, max_size=4),
)
def test_greedy_placement_conserves_bytes_and_is_the_best(
    pieces: list[tuple[int, float]], rooms: list[tuple[int, float]]
) -> None:
    data = [
        Data(name=str(at), size_bytes=size, touches=touches)
        for at, (size, touches) in enumerate(pieces)
    ]
    tiers = [tier(str(at), size, rate) for at, (size, rate) in enumerate(rooms)]
    if sum(one.size_bytes for one in data) > sum(one.capacity_bytes for one in tiers):
        with pytest.raises(UnsupportedError, match="the tiers hold"):
            place(tiers, data)
        return
    placed = place(tiers, data)
    assert [sum(one) for one in placed] == [one.size_bytes for one in data]
    for at, one in enumerate(tiers):
        assert sum(part[at] for part in placed) <= one.capacity_bytes
    for first, hot in enumerate(data):
        for second, cold in enumerate(data):
            for here, slow in enumerate(tiers):
                for there, fast in enumerate(tiers):
                    if placed[first][here] and placed[second][there]:
                        swaps = hot.touches > cold.touches
                        faster = fast.read_bytes_per_ns > slow.read_bytes_per_ns
                        assert not (swaps and faster)


def test_what_names_a_tier_lies_there_and_shares_count_touches() -> None:
    tiers = [tier("host", 100, 50.0), tier("ssd", 1000, 5.0)]
    data = [
        Data(name="weights", size_bytes=50, touches=3.0, tier="ssd"),
        Data(name="optimizer", size_bytes=100, touches=1.0),
        Data(name="activations", size_bytes=50, touches=2.0),
    ]
    placed = place(tiers, data)
    assert placed == ((0, 50), (50, 50), (50, 0))
    assert shares(tiers, data, placed) == [150 / 350, 200 / 350]


def read(options: str) -> Scenario:
    return scenarios.loads(f"""
workload: {{traces: "step.{{rank}}.et"}}
cluster:
  topology: [{{kind: ring, size: 2, bandwidth: 50 GB/s, latency: 1 us}}]
  memory: {{kind: tiers, options: {options}}}
""")


HOST = "tiers: [{name: host, capacity: 64 GiB, read: 50 GB/s, latency: 1 us}]"


def test_a_scenario_is_written_as_it_was_read() -> None:
    step = read(f"{{{HOST}, data: [{{name: optimizer, size: 32 GiB, touches: 2}}]}}")
    assert scenarios.loads(scenarios.to_yaml(step)) == step


def test_data_that_does_not_fit_is_named() -> None:
    step = read(f"{{{HOST}, data: [{{name: optimizer, size: 80 GiB}}]}}")
    with pytest.raises(UnsupportedError, match="optimizer 80 GiB"):
        model_of(step.memory.kind)


def test_a_tier_that_nobody_knows_is_refused_at_its_key() -> None:
    step = read(f"{{{HOST}, data: [{{name: optimizer, size: 1 GiB, tier: hots}}]}}")
    with pytest.raises(ConfigError, match=r"data\[0\].tier: no tier is called 'hots'; did you"):
        model_of(step.memory.kind)


def step_of(plan: str, capacity: str) -> Scenario:
    return scenarios.loads(f"""
workload: {{model: llama3-8b, plan: {{ranks: 8, tp: 2, dp: 4, zero: 1, {plan}}}}}
cluster:
  name: hgx-h100
  memory:
    kind: tiers
    options: {{tiers: [{{name: host, capacity: {capacity}, read: 50 GB/s}}]}}
""")


def test_without_data_the_tiers_hold_what_a_step_offloads() -> None:
    plan = "global_batch: 8, offload_optimizer: true, offload_activations: true"
    fits, too_small = step_of(plan, "1 TiB"), step_of(plan, "16 GiB")
    offloaded = compile(fits).graphs.workload.offloaded()["stage0"]  # type: ignore[attr-defined]
    # 12 bytes of state per parameter over tp 2 and dp 4, less what tp does not split
    assert offloaded["optimizer"] == pytest.approx(12 * 8.03e9 / 8, rel=0.01)
    assert offloaded["activations"] > 0
    with pytest.raises(UnsupportedError) as refused:
        compile(too_small)
    assert "optimizer of stage0 11.22 GiB, activations of stage0" in str(refused.value)


def test_a_step_that_offloads_nothing_says_nothing_of_it() -> None:
    made = compile(step_of("global_batch: 8", "1 GiB"))
    workload = made.graphs.workload  # type: ignore[attr-defined]
    assert workload.offloaded() == {}
    assert "offloaded" not in workload.memory["stage0"]


def test_accesses_to_tiers_that_nobody_says_anything_of_are_refused() -> None:
    step = read(f"{{{HOST}}}")

    def load(trace: TraceBuilder, rank: int) -> None:
        trace.memory_load(1000)

    with pytest.raises(ConfigError, match=r"options.data: missing, as the workload does not say"):
        run(TWO, load, memory=step.memory)


def recurrence(compute: list[int], load: list[int], depth: int) -> tuple[int, int]:
    arrive, end, exposed = [0] * len(load), [0] * len(load), 0
    for i in range(len(load)):
        free = arrive[i - 1] if i else 0
        slot = end[i - 1 - depth] if i - 1 - depth >= 0 else 0
        arrive[i] = max(free, slot) + load[i]
        ready = end[i - 1] if i else 0
        exposed += max(0, arrive[i] - ready)
        end[i] = max(ready, arrive[i]) + compute[i]
    return end[-1], exposed


@pytest.mark.parametrize("seed", range(200))
def test_exposed_time_is_the_recurrence_and_what_a_run_takes(seed: int) -> None:
    rng = random.Random(seed)
    count, depth = rng.randint(1, 12), rng.randint(0, 4)
    compute = [rng.randint(0, 50) * 1000 for _ in range(count)]  # whole microseconds
    load = [rng.randint(1, 50_000) for _ in range(count)]
    end, exposed = recurrence(compute, load, depth)
    assert prefetched(compute, load, depth)[-1].ended_ns == end
    assert exposed_ns(compute, load, depth) == exposed == end - sum(compute)

    def layers(trace: TraceBuilder, rank: int) -> None:
        loads: list[Any] = []
        works: list[Any] = []
        for at in range(count):
            after = [loads[-1]] if loads else []
            after += [works[at - 1 - depth]] if at > depth else []
            loads.append(trace.memory_load(load[at], after=after))
            before = [loads[-1], *works[-1:]]
            works.append(trace.compute(duration_micros=compute[at] // 1000, after=before))

    memory = RemoteMemory(kind="per_npu", bytes_per_ns=1.0)
    assert [int(tick) for tick in run(TWO, layers, memory=memory).finish] == [end] * 2


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=20),
    st.integers(0, 5),
)
def test_fetching_further_ahead_never_exposes_more(
    layers: list[tuple[int, int]], depth: int
) -> None:
    compute, load = (list(column) for column in zip(*layers, strict=True))
    assert exposed_ns(compute, load, depth + 1) <= exposed_ns(compute, load, depth)
    assert exposed_ns(compute, load, 0) == sum(load)
    assert exposed_ns(compute, load, depth) >= max(sum(load) - sum(compute[:-1]), load[0])


def test_layers_alike_settle_at_the_longer_of_both() -> None:
    for compute, load in ((10, 7), (7, 10)):
        times = prefetched([compute] * 50, [load] * 50, 1)
        steady = np.diff([layer.ended_ns for layer in times])[2:]
        assert set(steady) == {max(compute, load)}


def test_lists_of_other_lengths_are_refused() -> None:
    with pytest.raises(ConfigError, match="load_ns: expected 2 loads, one a layer, got 1"):
        prefetched([1, 2], [1], 1)
    with pytest.raises(ConfigError, match="depth: must be at least 0; got -1"):
        prefetched([1], [1], -1)
