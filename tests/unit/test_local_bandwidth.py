"""Kernels, reductions and copies of a rank share the bandwidth of its memory, max-min fairly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import Run, cluster, collectives, run, scenario
from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin
from yantra.chakra import TraceBuilder
from yantra.compile import compile, compile_without
from yantra.run.simulate import run as simulated
from yantra.run.simulate import run_native
from yantra.scenario import Device, DeviceOf, RemoteMemory, Resources, Scenario, SharedBus

TWO = cluster(("ring", 2, 50.0, 100.0))
RATE = 100  # bytes per ns
PEAK = 1000  # operations per ns
STREAMS = 6

Kernel = tuple[int, int]  # operations and bytes
"""What the roofline takes for: max(operations / PEAK, bytes / RATE) ns."""


def device(*, share: bool = True) -> Device:
    return Device(
        peak_flops=PEAK * 1e9,
        memory_bytes_per_s=RATE * 1e9,
        compute="roofline",
        share_bandwidth=share,
    )


def chains(kernels: list[list[Kernel]]) -> Any:
    def write(trace: TraceBuilder, rank: int) -> None:
        for chain in kernels if rank == 0 else []:
            last: Any = ()
            for ops, size in chain:
                last = trace.compute(num_ops=ops, tensor_size=size, after=last)

    return write


def ran(kernels: list[list[Kernel]], *, share: bool = True) -> Run:
    resources = Resources(compute_streams=STREAMS)
    return run(TWO, chains(kernels), device=device(share=share), resources=resources)


def ends(kernels: list[list[Kernel]]) -> list[Fraction]:
    places = [[0, Fraction(1)] for _ in kernels]  # kernel at hand, and what is left of it
    found: list[list[Fraction]] = [[] for _ in kernels]
    now = Fraction(0)
    while True:
        active = [at for at, chain in enumerate(kernels) if places[at][0] < len(chain)]
        if not active:
            return [end for chain in found for end in chain]
        of = {at: kernels[at][int(places[at][0])] for at in active}
        alone = {
            at: max(Fraction(ops, PEAK), Fraction(size, RATE)) for at, (ops, size) in of.items()
        }
        wanted = {at: Fraction(of[at][1]) / alone[at] for at in active}
        share, left = {}, Fraction(RATE)
        for number, at in enumerate(sorted(active, key=lambda at: wanted[at])):
            share[at] = min(wanted[at], left / (len(active) - number))
            left -= share[at]
        speed = {at: share[at] / wanted[at] / alone[at] for at in active}
        step = min(Fraction(places[at][1]) / speed[at] for at in active)
        now += step
        for at in active:
            places[at][1] -= speed[at] * step
            if places[at][1] == 0:
                found[at].append(now)
                places[at] = [places[at][0] + 1, Fraction(1)]


KERNEL = st.tuples(st.integers(1, 10**7), st.integers(1, 10**6))


@given(st.lists(st.lists(KERNEL, min_size=1, max_size=4), min_size=1, max_size=STREAMS))
def test_kernels_of_many_streams_end_as_in_the_exact_fluid_model(
    kernels: list[list[Kernel]],
) -> None:
    made = ran(kernels)
    nodes = sum(map(len, kernels))
    got = [made.span(0, node)[1] for node in range(nodes)]
    picosecond = Fraction(1, 1000)
    for mine, exact in zip(got, ends(kernels), strict=True):
        assert abs(mine - exact) <= 2 * nodes * picosecond


@given(st.integers(1, 10**7), st.integers(1, 10**7))
def test_kernels_bound_by_memory_take_the_sum_of_their_bytes_over_the_bandwidth(
    one: int, other: int
) -> None:
    made = ran([[(1, one)], [(1, other)]])
    assert abs(max(made.finish) - Fraction(one + other, RATE)) <= Fraction(1, 500)
    assert ran([[(1, one)], [(1, other)]], share=False).finish[0] <= Fraction(
        max(one, other) + 1, RATE
    )


@given(st.lists(KERNEL, min_size=1, max_size=8))
def test_what_is_alone_takes_what_it_takes_without_sharing(chain: list[Kernel]) -> None:
    assert ran([chain]).columns() == ran([chain], share=False).columns()


def test_kernels_bound_by_arithmetic_are_hidden_behind_each_other() -> None:
    kernels = [[(10**6, 10)], [(10**6, 10)], [(1, 90_000)]]
    assert ran(kernels).finish == ran(kernels, share=False).finish == [1000, 0]


def all_reduce_beside_a_kernel(**parts: Any) -> Run:
    def write(trace: TraceBuilder, _: int) -> None:
        trace.compute(num_ops=1, tensor_size=10_000_000)
        trace.collective("all_reduce", 2_000_000)

    return run(TWO, write, **{"device": device()} | parts)


def test_a_kernel_and_the_reductions_it_overlaps_move_their_bytes_one_after_the_other() -> None:
    # A ring of two reduces half of the bytes, once: a write and two reads of a megabyte.
    reduced = 3 * 1_000_000
    made = all_reduce_beside_a_kernel()
    assert made.span(0, 0)[1] == Fraction(10_000_000 + reduced, RATE)
    alone = all_reduce_beside_a_kernel(device=device(share=False))
    assert alone.span(0, 0)[1] == Fraction(10_000_000, RATE)
    slower = made.span(0, 1)[1] - alone.span(0, 1)[1]
    assert slower == Fraction(reduced, RATE)  # its reduction has half of the bandwidth


def reduced_over_eight(algorithm: str, *, share: bool) -> list[Fraction]:
    def write(trace: TraceBuilder, _: int) -> None:
        trace.collective("all_reduce", 1_000_000)

    topology = cluster(("switch", 8, 50.0, 100.0))
    chosen = collectives("ring", all_reduce=(algorithm,))
    return run(topology, write, device=device(share=share), collectives=chosen).finish


@pytest.mark.parametrize("algorithm", ["ring", "halving_doubling"])
def test_a_collective_that_reduces_one_block_at_a_time_is_as_it_was(algorithm: str) -> None:
    assert reduced_over_eight(algorithm, share=True) == reduced_over_eight(algorithm, share=False)


def test_blocks_that_come_faster_than_one_is_added_are_reduced_in_the_time_of_all_bytes() -> None:
    block, wire = Fraction(3 * 125_000, RATE), Fraction(125_000, 50)
    assert wire < block
    beside = reduced_over_eight("direct", share=True)[0]
    apart = reduced_over_eight("direct", share=False)[0]
    assert beside - apart == 7 * block - (6 * wire + block)


def copies_beside_a_kernel(*, share: bool) -> Run:
    def write(trace: TraceBuilder, _: int) -> None:
        trace.compute(num_ops=1, tensor_size=10_000_000)
        trace.memory_load(1_000_000)

    memory = RemoteMemory(kind="per_npu", bytes_per_ns=25.0)
    return run(TWO, write, device=device(share=share), memory=memory)


def test_a_copy_takes_from_a_kernel_what_its_link_carries() -> None:
    apart, beside = copies_beside_a_kernel(share=False), copies_beside_a_kernel(share=True)
    assert beside.span(0, 1) == apart.span(0, 1) == (0, 40_000)  # its link is the slower
    assert apart.span(0, 0) == (0, 100_000)
    assert beside.span(0, 0) == (0, 110_000)


def test_a_recorded_run_takes_the_same_and_its_path_is_whole() -> None:
    made = all_reduce_beside_a_kernel()
    result = simulated(made.model, record=True)
    assert list(result.outcome.finish) == list(made.outcome.finish)
    assert result.critical_path.length_ns == result.makespan_ns


def test_without_the_time_of_bytes_nothing_is_shared() -> None:
    model = compile_without(all_reduce_beside_a_kernel().model, ["memory_bandwidth"])
    plain = all_reduce_beside_a_kernel(device=device(share=False)).model
    without = compile_without(plain, ["memory_bandwidth"])
    assert list(run_native(model).finish) == list(run_native(without).finish)


def made(**parts: Any) -> Scenario:
    return scenario(TWO, chains([[(1, 1)]]), **{"device": device()} | parts)


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"semantics": "astra-sim"}, "only with semantics yantra"),
        ({"devices": (DeviceOf(ranks=(1,), device=device()),)}, "all ranks have one device"),
        (
            {"memory": RemoteMemory(kind="pool", bytes_per_ns=1.0)},
            "copies of pool wait for those of other ranks",
        ),
        (
            {
                "collectives": collectives(
                    shared_bus=SharedBus(l_ns=1, o_ns=1, g_ns=1, big_g_ns_per_byte=0.1)
                )
            },
            "not with collectives.shared_bus",
        ),
        ({"device": Device(share_bandwidth=True)}, "memory_bandwidth: must be above 0"),
    ],
)
def test_where_sharing_means_nothing_it_is_refused(parts: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        compile(made(**parts))


def test_links_of_a_memory_that_ranks_share_are_refused() -> None:
    sizes = {"gpus": 2, "nodes": 1, "memory_groups": 2, "out_switches": 1}
    rates = {"gpu_side_bytes_per_ns": 10.0, "in_node_bytes_per_ns": 10.0}
    options = tuple(sorted((sizes | rates | {"lockstep": False}).items()))
    memory = RemoteMemory(kind=Plugin(kind="hiermem", options=options), bytes_per_ns=1.0)
    with pytest.raises(ConfigError, match="share links with those of other ranks"):
        compile(made(memory=memory))


def test_ranks_are_not_folded_and_the_reason_is_said() -> None:
    from yantra.base.errors import UnsupportedError

    with pytest.raises(UnsupportedError, match="shares the bandwidth of a rank's memory"):
        simulated(compile(made()), fold="require")
