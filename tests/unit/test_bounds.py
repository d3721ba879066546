"""What does not fit is refused with its place, or ends the run with the moment."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cases import ALL_GATHER, ALL_REDUCE, cluster, collectives, scenario
from tests.golden.astra_sim_inputs import _files, _line
from yantra.base.errors import ConfigError, TraceError, UnsupportedError, YantraError
from yantra.chakra import TraceBuilder
from yantra.cli import main
from yantra.compile import compile
from yantra.run.simulate import run
from yantra.scenario import Device, RemoteMemory, Scenario, SharedBus

Captured = pytest.CaptureFixture[str]
PAIR = cluster(("ring", 2, 50.0, 500.0))
RING = cluster(("ring", 8, 50.0, 500.0))
NEGATIVE = 2**64 - 5
PS_END_NS = (2**63 - 1) // 1000


def kernels(*micros: int) -> Callable[[TraceBuilder, int], None]:
    def write(trace: TraceBuilder, rank: int) -> None:
        before: Any = ()
        for duration in micros:
            before = trace.compute("kernel", duration_micros=duration, after=before)

    return write


def reduce_of(size: int) -> Callable[[TraceBuilder, int], object]:
    return lambda trace, rank: trace.collective(ALL_REDUCE, size)


def both_semantics(topology: Any, write: Any, **parts: Any) -> list[Scenario]:
    return [
        scenario(topology, write, semantics=name, **parts)  # type: ignore[arg-type]
        for name in ("yantra", "astra-sim")
    ]


def refusal(case: Scenario, kind: type[YantraError] = TraceError) -> str:
    with pytest.raises(kind) as error:
        compile(case)
    return str(error.value)


def end_of(case: Scenario, **options: Any) -> str:
    with pytest.raises(UnsupportedError) as error:
        run(compile(case), **options)
    return str(error.value)


@pytest.mark.parametrize("micros", [(10, 2**63), (NEGATIVE, 10), (10, NEGATIVE), (2**64 - 1,)])
def test_an_absurd_duration_is_refused_with_its_node(micros: tuple[int, ...]) -> None:
    wrong = next(at for at, value in enumerate(micros) if value > 2**60)
    for case in both_semantics(PAIR, kernels(*micros)):
        text = refusal(case)
        signed = micros[wrong] - 2**64
        assert f"node {wrong} 'kernel': lasts {micros[wrong]} us" in text
        assert f"as a signed number that is {signed} us" in text


def test_a_duration_that_picoseconds_do_not_count_is_refused_with_its_limit() -> None:
    native, upstream = both_semantics(PAIR, kernels(2**52))
    text = refusal(native)
    assert f"lasts {2**52 * 1000} ns; a run in picoseconds counts at most {PS_END_NS} ns" in text
    assert run(compile(upstream)).outcome.finish[0] == 2**52 * 1000


def test_kernels_that_together_last_too_long_are_refused_with_the_node_that_passes_it() -> None:
    for case, micros in zip(both_semantics(PAIR, kernels()), (2**43, 2**53), strict=True):
        whole = case.replace(workload=scenario(PAIR, kernels(*[micros] * 8)).workload)
        assert re.search(
            r"node [12] 'kernel': with it, the rank computes for longer", refusal(whole)
        )


def test_a_negative_exact_duration_is_refused() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.compute("kernel")["duration_ns"] = -7

    assert "attribute 'duration_ns' is -7, not a time" in refusal(scenario(PAIR, write))


@pytest.mark.parametrize("size", [-5, -(2**63)])
def test_a_negative_size_is_refused_with_its_node(size: int) -> None:
    for case in both_semantics(RING, reduce_of(size)):
        assert f"attribute 'comm_size' is {size}; it must be at least 0" in refusal(case)


def test_a_negative_access_is_refused() -> None:
    memory = RemoteMemory(kind="per_npu", bytes_per_ns=1.0)
    case = scenario(PAIR, lambda trace, rank: trace.memory_load(2**64 - 3), memory=memory)
    assert "attribute 'tensor_size' is -3" in refusal(case)


def test_a_message_too_long_for_the_clock_ends_the_run_with_the_moment_rank_and_node() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        before = trace.compute("first", duration_micros=3)
        if rank == 0:
            trace.send(1, 2**62, tag=0, after=before)
        else:
            trace.recv(0, 2**62, tag=0, after=before)

    text = end_of(scenario(PAIR, write))
    assert re.match(r"at 3\.000 us, rank [01], node 1 '.*': a duration of 9\.2\d*e\+16 ns", text)
    assert f"{PS_END_NS} ns" in text
    upstream = scenario(PAIR, write, semantics="astra-sim")
    assert run(compile(upstream)).outcome.last_tick == 3000 + int(500 + 2**62 / 50)


def test_a_run_in_picoseconds_lasts_longer_than_a_hundred_days() -> None:
    days = scenario(PAIR, kernels(100 * 86400 * 10**6))
    result = run(compile(days))
    assert result.outcome.finish[0] == 100 * 86400 * 10**12
    assert result.run_warnings == (
        "the run ends after 100 days (8640000.000 s); is every duration meant?",
    )


@pytest.mark.parametrize("fold", ["off", "require"])
def test_the_sum_of_messages_ends_the_run_where_the_clock_ends(fold: Any) -> None:
    slow = cluster(("ring", 8, 1e-9, 0.0))
    for case in both_semantics(slow, lambda trace, rank: _many(trace)):
        native = case.semantics == "yantra"
        slower = (
            case
            if native
            else case.replace(workload=scenario(slow, lambda t, r: _many(t, 10**3)).workload)
        )
        text = end_of(slower, fold=fold)
        assert re.match(r"at [\d.]+ s, rank \d, node \d+ ", text)
        assert "2^63" in text


def _many(trace: TraceBuilder, times: int = 1) -> None:
    before: Any = ()
    for _ in range(40):
        before = trace.collective(ALL_REDUCE, 2**21 * times, after=before)


@pytest.mark.parametrize(
    ("parts", "where"),
    [
        ({"topology": cluster(("ring", 8, 50.0, 1e18))}, "cluster.topology[0].latency"),
        ({"topology": cluster(("ring", 8, 1e-300, 1.0))}, "cluster.topology[0].bandwidth"),
        (
            {"device": Device(peak_flops=1e-300, memory_bytes_per_s=1.0, compute="roofline")},
            "cluster.device.peak",
        ),
        (
            {"device": Device(peak_flops=1.0, memory_bytes_per_s=1e-300)},
            "cluster.device.memory_bandwidth",
        ),
        (
            {"memory": RemoteMemory(kind="per_npu", latency_ns=2**62, bytes_per_ns=1.0)},
            "cluster.memory.latency",
        ),
        ({"collectives": collectives(endpoint_delay_ns=2**62)}, "collectives.endpoint_delay"),
        (
            {"collectives": collectives(local_reduction_delay_ns=10**20)},
            "collectives.local_reduction_delay",
        ),
        (
            {
                "collectives": collectives(
                    shared_bus=SharedBus(l_ns=10**30, o_ns=0, g_ns=0, big_g_ns_per_byte=0.0)
                )
            },
            "collectives.shared_bus.l",
        ),
    ],
)
def test_a_time_or_a_rate_out_of_range_is_refused_by_its_field(parts: Any, where: str) -> None:
    case = scenario(parts.pop("topology", RING), reduce_of(2**20), **parts)
    assert refusal(case, ConfigError).startswith(f"{where}: must be at ")


def test_data_that_grows_beyond_64_bits_is_refused_with_its_node() -> None:
    for case in both_semantics(RING, lambda trace, rank: trace.collective(ALL_GATHER, 2**62)):
        assert "node 0" in refusal(case) and "comm_size" in refusal(case)


def test_the_bus_and_reductions_end_the_run_where_they_are_too_long() -> None:
    bus = SharedBus(l_ns=1, o_ns=1, g_ns=1, big_g_ns_per_byte=1.0)
    case = scenario(
        RING,
        reduce_of(2**57),
        collectives=collectives(shared_bus=bus, local_reduction_delay_ns=10**9),
    )
    assert "does not fit the clock" in end_of(case)
    slow = scenario(RING, reduce_of(2**55), device=Device(memory_bytes_per_s=1.0))
    assert "does not fit the clock" in end_of(slow)


def test_remote_memory_too_slow_for_the_clock_ends_the_run() -> None:
    memory = RemoteMemory(kind="pool", bytes_per_ns=1e-9, latency_ns=PS_END_NS - 1)
    case = scenario(PAIR, lambda trace, rank: trace.memory_load(2**13), memory=memory)
    assert "rank 0, node 0" in end_of(case)


def test_all_commands_refuse_the_same(tmp_path: Path, capsys: Captured) -> None:
    trace = TraceBuilder(first_id=1)
    first = trace.compute("first", duration_micros=10)
    trace.compute("second", duration_micros=NEGATIVE, after=first)
    flags = _files(tmp_path, [trace] * 4, _line("Ring", 4))
    for command in (["astra-sim"], ["validate"]):
        assert main([*command, *flags]) == 2
        out, err = capsys.readouterr()
        assert "lasts 18446744073709551611 us; as a signed number that is -5 us" in out + err
