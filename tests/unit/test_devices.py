"""Devices of some ranks: each computes at its own speed, and folding keeps them apart."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import ALL_REDUCE, cluster, collectives, run, scenario
from tests.oracles.small_workloads import standard
from yantra import scenario as scenarios
from yantra.base.errors import ConfigError
from yantra.chakra import TraceBuilder
from yantra.compile import compile
from yantra.run.simulate import simulate
from yantra.scenario import ChakraFiles, Device, DeviceOf, Resources, Scenario, Templates
from yantra.workloads.templates.expand import expand

EIGHT = cluster(("ring", 8, 50.0, 100.0))
FAST = Device(peak_flops=2e15, memory_bytes_per_s=1e15, compute="roofline")
SLOW = FAST.replace(peak_flops=1e15)
MODEL = SLOW.replace(compute="fixed_efficiency")
SOME = (DeviceOf(ranks=(1, 5), device=SLOW), DeviceOf(ranks=(2, 6), device=MODEL))


def work(trace: TraceBuilder, rank: int) -> None:
    trace.compute(num_ops=12 * 10**12, tensor_size=1)


def together(trace: TraceBuilder, rank: int) -> None:
    first = trace.compute(num_ops=10**10, tensor_size=1)
    trace.compute(
        num_ops=10**9, tensor_size=1, after=trace.collective(ALL_REDUCE, 8000, after=first)
    )


def test_ranks_of_one_trace_take_the_times_of_their_devices() -> None:
    done = run(EIGHT, work, device=FAST, devices=SOME)
    six, twelve, twenty = 6_000_000, 12_000_000, 20_000_000  # ns; 0.6 of the peak
    assert done.finish == [six, twelve, twenty, six] * 2


@pytest.mark.parametrize("devices", [SOME, (DeviceOf(ranks=(0, 1, 2, 3), device=SLOW),)])
def test_folded_runs_with_several_devices_equal_whole_ones(devices: tuple[DeviceOf, ...]) -> None:
    parts: dict[str, Any] = {"device": FAST, "devices": devices}
    whole = run(EIGHT, together, fold="off", **parts).columns()
    assert run(EIGHT, together, fold="auto", **parts).columns() == whole
    assert (
        run(EIGHT, work, fold="require", **parts).finish
        == run(EIGHT, work, fold="off", **parts).finish
    )


def test_the_device_of_all_ranks_may_be_given_by_rank() -> None:
    by_rank = (DeviceOf(ranks=tuple(range(8)), device=SLOW),)
    named = run(EIGHT, together, device=FAST, devices=by_rank).columns()
    assert named == run(EIGHT, together, device=SLOW).columns()


@pytest.mark.parametrize("fold", ["off", "auto"])
def test_templates_take_the_times_of_devices_as_expanded_traces_do(
    fold: Any, tmp_path: Any
) -> None:

    workload = standard(2, 2, 1)
    expand(workload, tmp_path, ordering="serial", prefix="step")
    parts: dict[str, Any] = {
        "topology": cluster(("ring", 2, 50.0, 100.0), ("ring", 2, 50.0, 100.0)),
        "collectives": collectives(dimensions=2),
        "device": FAST.replace(peak_flops=1e12),
        "devices": (DeviceOf(ranks=(1, 3), device=SLOW.replace(peak_flops=1e10)),),
        "fold": fold,
        "resources": Resources(communication="one_slot", copy_engines=0),
    }
    groups = tuple(workload.numbered_groups())
    files = ChakraFiles(prefix=str(tmp_path / "step"), groups=groups)
    templates = simulate(Scenario(workload=Templates(workload=workload), **parts))
    expanded = simulate(Scenario(workload=files, **parts))
    assert templates.finish_ns.tolist() == expanded.finish_ns.tolist()
    alone = simulate(Scenario(workload=files, **{**parts, "devices": ()}))
    assert expanded.finish_ns.tolist() != alone.finish_ns.tolist()


def test_each_model_is_asked_for_the_kernels_of_its_ranks() -> None:
    model = compile(scenario(EIGHT, work, device=FAST, devices=SOME))
    (timed,) = model.kernels
    assert timed.device == MODEL
    assert timed.kernels.count.tolist() == [2]


def test_jobs_that_arrive_take_the_device_of_their_rank() -> None:
    late = TraceBuilder()
    late.compute(num_ops=1, tensor_size=1)
    arrivals = {"late": {2: late.build(), 3: late.build()}}
    model = compile(scenario(EIGHT, work, device=FAST, devices=SOME), arrivals)
    (timed,) = model.kernels
    assert timed.kernels.count.tolist() == [2, 1]


TEXT = (
    'workload: {traces: "step.{rank}.et"}\n'
    "cluster:\n"
    "  topology: [{kind: ring, size: 8, bandwidth: 50 GB/s, latency: 1 us}]\n"
    "  device: {peak: 1 PFLOP/s, memory_bandwidth: 3 TB/s, compute: roofline}\n"
    "  devices:\n"
    "  - {ranks: '0-2,5', device: {peak: 2 PFLOP/s, memory_bandwidth: 3 TB/s, compute: roofline}}\n"
    "  - {ranks: [7, 6], device: {}}\n"
)


def test_a_scenario_file_gives_devices_to_ranks() -> None:
    read = scenarios.loads(TEXT)
    assert [part.ranks for part in read.devices] == [(0, 1, 2, 5), (6, 7)]
    assert read.device_of(5).peak_flops == 2e15
    assert read.device_of(4) == read.device
    assert scenarios.loads(scenarios.to_yaml(read)) == read


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("[7, 6]", "[7, 5]", "cluster.devices[1].ranks: rank 5 has a device already"),
        ("[7, 6]", "[7, 8]", "cluster.devices[1].ranks: expected ranks from 0 to 7, got 8"),
        ("[7, 6]", "[7, 7]", "cluster.devices[1].ranks: expected each rank once"),
        ("[7, 6]", "[]", "cluster.devices[1].ranks: expected a tuple of ranks"),
        ("[7, 6]", "all", "cluster.devices[1].ranks: expected ranks such as 0-7,12"),
        ("[7, 6]", "'7-999999999'", "cluster.devices[1].ranks: expected ranks such as 0-7,12"),
        ("{}}", "{compute: roofline}}", "cluster.devices[1].device.peak: must be above 0"),
        ("{}}", "{compute: rofline}}", "cluster.devices[1].device.compute: no compute model"),
    ],
)
def test_a_wrong_device_is_named(right: str, wrong: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        scenarios.loads(TEXT.replace(right, wrong))
    assert str(error.value).startswith(said)
