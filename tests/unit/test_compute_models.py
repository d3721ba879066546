"""Compute models in scenarios: which model is asked for what, and how its answer is used."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import cluster, collectives, run, scenario
from tests.oracles.small_workloads import standard
from yantra import scenario as scenarios
from yantra.base.errors import ConfigError, TraceError
from yantra.base.fields import Plugin
from yantra.chakra import Attribute, Kind, Node, NodeType, TraceBuilder
from yantra.compile import Model, compile, compile_without
from yantra.compute import model_of
from yantra.compute.model import ComputeModel, Device, Estimates, Kernels, kernels
from yantra.run.simulate import run as run_compiled
from yantra.run.simulate import simulate
from yantra.scenario import ChakraFiles, Scenario, Templates
from yantra.scenario import Device as ScenarioDevice
from yantra.workloads.templates.expand import expand

PAIR = cluster(("ring", 2, 50.0, 100.0))
PEAK, BANDWIDTH = 1e15, 3e12
SEEN = Device(peak_flops=PEAK, memory_bytes_per_s=BANDWIDTH)


def device(compute: Any) -> ScenarioDevice:
    return ScenarioDevice(peak_flops=PEAK, memory_bytes_per_s=BANDWIDTH, compute=compute)


def kernel(
    trace: TraceBuilder, op_class: str, flops: int, size: int, after: Any = (), **numbers: int
) -> Node:
    attributes = {"is_cpu_op": False, "num_ops": flops, "tensor_size": size, **numbers}
    given = [Attribute(name, value) for name, value in attributes.items()]
    given += [Attribute("op_class", op_class, Kind.STRING), Attribute("dtype", "bf16", Kind.STRING)]
    node = Node(len(trace.nodes), op_class, NodeType.COMP, attributes=given)
    return trace.add(node, after=after)


def three(trace: TraceBuilder, rank: int) -> None:
    first = kernel(trace, "gemm", 10**12, 10**9, batch=2, m=10, n=20, k=30)
    second = kernel(trace, "norm", 10**6, 3 * 10**9, first)
    kernel(trace, "gemm", 10**12, 10**9, second, batch=2, m=10, n=20, k=30)


class Told(ComputeModel):
    asked: ClassVar[list[tuple[Kernels, Device]]]

    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        self.asked.append((kernels, device))
        ns = np.array([1000.4] * len(kernels))
        return Estimates(ns / 2, ns, ns * 2)


@pytest.fixture
def told() -> type[Told]:
    class Fresh(Told):
        asked: ClassVar = []

    return Fresh


def test_a_model_is_asked_once_for_the_kernels_that_differ(told: type[Told]) -> None:
    compile(scenario(PAIR, three, device=device(told)))
    ((rows, seen),) = told.asked
    assert seen == SEEN
    assert [rows.op_classes[code] for code in rows.op_class] == ["gemm", "norm"]
    assert [rows.dtypes[code] for code in rows.dtype] == ["bf16", "bf16"]
    assert rows.flops.tolist() == [10**12, 10**6]
    assert rows.bytes.tolist() == [10**9, 3 * 10**9]
    assert [column.tolist() for column in (rows.batch, rows.m, rows.n, rows.k)] == [
        [2, 0],
        [10, 0],
        [20, 0],
        [30, 0],
    ]
    assert rows.count.tolist() == [4, 2]  # of both ranks


def test_the_middle_is_simulated_and_the_interval_kept(told: type[Told]) -> None:
    model = compile(scenario(PAIR, three, device=device(told)))
    (timed,) = model.kernels
    assert timed.device == model.scenario.device
    assert timed.estimates.low.tolist() == [500.2] * 2
    assert timed.estimates.high.tolist() == [2000.8] * 2
    assert run(PAIR, three, device=device(told)).finish == [Fraction(30012, 10)] * 2


def test_astra_sim_semantics_cut_estimates_to_whole_nanoseconds(told: type[Told]) -> None:
    done = run(PAIR, three, device=device(told), semantics="astra-sim")
    assert [int(ns) for ns in done.finish] == [3000, 3000]


@pytest.mark.parametrize("compute", ["recorded", "roofline"])
def test_the_core_computes_native_models_itself(compute: str) -> None:
    assert compile(scenario(PAIR, three, device=device(compute))).kernels == ()


def test_a_replay_asks_nobody(told: type[Told]) -> None:
    assert compile(scenario(PAIR, three, device=device(told), replay_only=True)).kernels == ()
    assert told.asked == []


def test_a_what_if_without_compute_removes_estimates_too(told: type[Told]) -> None:
    model = compile(scenario(PAIR, three, device=device(told)))
    assert run_compiled(compile_without(model, ["compute"])).finish_ns.tolist() == [0, 0]
    compile_without(model, ["peak"])
    assert told.asked[-1][1] == Device(peak_flops=math.inf, memory_bytes_per_s=BANDWIDTH)


@given(
    st.lists(
        st.tuples(st.integers(0, 10**15), st.integers(0, 10**12)),
        min_size=1,
        max_size=6,
        unique=True,
    ),
    st.floats(1e9, 1e16),
    st.floats(1e6, 1e14),
)
def test_the_roofline_of_python_is_that_of_the_core_to_the_tick(
    work: list[tuple[int, int]], peak: float, bandwidth: float
) -> None:
    class Again(ComputeModel):
        def estimate(self, kernels: Kernels, device: Device) -> Estimates:
            return model_of("roofline").estimate(kernels, device)

    def write(trace: TraceBuilder, rank: int) -> None:
        for flops, size in work:
            kernel(trace, "gemm", flops, size)

    spans = []
    for compute in ("roofline", Again):
        parts = {"peak_flops": peak, "memory_bytes_per_s": bandwidth}
        done = run(PAIR, write, device=ScenarioDevice(compute=compute, **parts))
        spans.append([done.span(0, node) for node in range(len(work))])
    assert spans[0] == spans[1]


def test_what_was_recorded_is_the_same_from_python() -> None:
    class Again(ComputeModel):
        needs = ()

        def estimate(self, kernels: Kernels, device: Device) -> Estimates:
            return model_of("recorded").estimate(kernels, device)

    def write(trace: TraceBuilder, rank: int) -> None:
        for micros in (0, 1, 17, 10**6):
            trace.compute(duration_micros=micros)
        trace.compute(duration_micros=3, cpu=True)

    recorded = run(PAIR, write, device=device("recorded"))
    assert recorded.columns() == run(PAIR, write, device=device(Again)).columns()


def test_fixed_efficiency_takes_the_longer_of_arithmetic_and_traffic() -> None:
    options = (("gemm", 0.5), ("memory", 0.25), ("default", 1.0))
    model = model_of(Plugin(kind="fixed_efficiency", options=options))
    rows = kernels([10**12, 10**12, 1], [1, 1, 10**9], ["gemm", "attention", "gemm"])
    assert model.estimate(rows, SEEN).middle.tolist() == pytest.approx(
        [1e12 / (PEAK * 0.5) * 1e9, 1e12 / PEAK * 1e9, 1e9 / (BANDWIDTH * 0.25) * 1e9]
    )


def by_size(**options: Any) -> ComputeModel:
    return model_of(Plugin(kind="efficiency_by_size", options=tuple(options.items())))


def test_efficiency_by_size_takes_the_step_of_each_kernel() -> None:
    model = by_size(
        products=((0, 0.1), (10**9, 0.5), (10**12, 0.9)), others=((0, 0.2),), memory=((10**6, 0.8),)
    )
    flops = [10**9 - 1, 10**9, 10**12, 10**12, 0]
    rows = kernels(flops, [0, 0, 0, 0, 1], ["gemm"] * 3 + ["norm", "norm"])
    reached = [0.1, 0.5, 0.9, 0.2]
    times = [work / (PEAK * share) * 1e9 for work, share in zip(flops, reached, strict=False)]
    times.append(1 / (BANDWIDTH * 0.8) * 1e9)  # below the first step, the first
    assert model.estimate(rows, SEEN).middle.tolist() == pytest.approx(times)


def test_arithmetic_and_traffic_overlap_or_add_up() -> None:
    rows = kernels([10**12], [10**9], ["gemm"])
    arithmetic, traffic = 1e12 / PEAK * 1e9, 1e9 / BANDWIDTH * 1e9
    assert by_size().estimate(rows, SEEN).middle[0] == pytest.approx(max(arithmetic, traffic))
    apart = by_size(together=False)
    assert apart.estimate(rows, SEEN).middle[0] == pytest.approx(arithmetic + traffic)


def test_efficiency_by_size_needs_a_size() -> None:
    with pytest.raises(ConfigError, match="memory: expected at least one size"):
        by_size(memory=()).estimate(kernels([1], [1]), SEEN)


def test_full_efficiency_is_the_roofline() -> None:
    options = (("default", 1.0), ("memory", 1.0))
    full = model_of(Plugin(kind="fixed_efficiency", options=options))
    rows = kernels([0, 1, 10**12, 10**12], [10**9, 0, 10**9, 1])
    bound = model_of("roofline").estimate(rows, SEEN).middle
    assert full.estimate(rows, SEEN).middle == pytest.approx(bound)


def test_a_scenario_file_chooses_a_model_and_its_options() -> None:
    text = (
        'workload: {traces: "step.{rank}.et"}\n'
        "cluster:\n"
        "  topology: [{kind: ring, size: 2, bandwidth: 50 GB/s, latency: 1 us}]\n"
        "  device:\n"
        "    peak: 1 PFLOP/s\n"
        "    memory_bandwidth: 3 TB/s\n"
        "    compute: {kind: fixed_efficiency, options: {gemm: 0.7}}\n"
    )
    read = scenarios.loads(text)
    assert read.device.compute == Plugin(kind="fixed_efficiency", options=(("gemm", 0.7),))
    assert scenarios.loads(scenarios.to_yaml(read)) == read
    for wrong, said in [
        ("gemm: 1.5", "cluster.device.compute.options.gemm: must be at most 1"),
        ("gem: 0.5", "cluster.device.compute.options.gem: unknown key; did you mean 'gemm'?"),
        ("gemm: fast", "cluster.device.compute.options.gemm: expected"),
    ]:
        with pytest.raises(ConfigError) as error:
            scenarios.loads(text.replace("gemm: 0.7", wrong))
        assert said in str(error.value)


def test_a_kernel_without_operations_is_wrong_once() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.compute("lonely", duration_micros=3)

    roofline = ScenarioDevice(peak_flops=PEAK, memory_bytes_per_s=BANDWIDTH, compute="roofline")
    with pytest.raises(TraceError) as error:
        compile(scenario(PAIR, write, device=roofline))
    assert "attribute 'num_ops' is missing" in str(error.value)
    assert "longer" not in str(error.value)


def test_a_kernel_without_what_the_model_needs_is_named(told: type[Told]) -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.compute("lonely", duration_micros=3)

    with pytest.raises(TraceError, match=r"node 0 'lonely': attribute 'num_ops' is missing"):
        compile(scenario(PAIR, write, device=device(told)))
    assert told.asked == []


class Spoiled(Told):
    asked: ClassVar = []

    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        return Estimates.exact(np.array([1.0, np.nan]))


class Failing(Told):
    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        raise ValueError("no such tile")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Spoiled, "Spoiled: row 1 (norm, 1000000 FLOPs, 3000000000 bytes): expected a finite"),
        (Failing, "Failing failed: ValueError: no such tile"),
    ],
)
def test_an_answer_that_is_none_names_the_model_and_the_row(model: type, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        compile(scenario(PAIR, three, device=device(model)))
    assert str(error.value).startswith(f"cluster.device.compute: {said}")


def test_jobs_that_arrive_are_estimated_too(told: type[Told]) -> None:
    builder = TraceBuilder()
    kernel(builder, "conv", 5, 5)
    model: Model = compile(
        scenario(PAIR, three, device=device(told)), arrivals={"late": {1: builder.build()}}
    )
    (timed,) = model.kernels
    assert timed.kernels.op_classes == ("", "gemm", "norm", "conv")
    assert timed.kernels.count.tolist() == [4, 2, 1]


@pytest.mark.parametrize("fold", ["off", "require"])
def test_templates_are_estimated_as_their_expanded_traces(tmp_path: Path, fold: Any) -> None:
    workload = standard(2, 2, 1)
    expand(workload, tmp_path, ordering="streams", prefix="step")
    parts: dict[str, Any] = {
        "topology": cluster(("ring", 2, 50.0, 100.0), ("ring", 2, 50.0, 100.0)),
        "collectives": collectives(dimensions=2),
        "device": device("fixed_efficiency"),
        "fold": fold,
    }
    templates = simulate(Scenario(workload=Templates(workload=workload), **parts))
    groups = tuple(workload.numbered_groups())
    expanded = simulate(
        Scenario(workload=ChakraFiles(prefix=str(tmp_path / "step"), groups=groups), **parts)
    )
    assert templates.finish_ns.tolist() == expanded.finish_ns.tolist()
    for one, other in zip(templates.model.kernels, expanded.model.kernels, strict=True):
        assert sorted(one.kernels.flops.repeat(one.kernels.count.astype(int)).tolist()) == sorted(
            other.kernels.flops.repeat(other.kernels.count.astype(int)).tolist()
        )
