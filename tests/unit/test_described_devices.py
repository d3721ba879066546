"""Described devices: real dies, formulas by hand, times that keep laws, and what is refused."""

from __future__ import annotations

import json
from math import pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra import scenario as scenarios
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.fields import Plugin
from yantra.chakra import TraceBuilder
from yantra.cli import main
from yantra.compute import model_of
from yantra.compute.devices import load, names
from yantra.compute.devices.area import die_mm2, fpu_transistors, parts_mm2, registers_mm2, sram_mm2
from yantra.compute.devices.cost import cost_of, dies_per_wafer, yield_of
from yantra.compute.devices.power import parts_w
from yantra.compute.devices.tiles import seconds, tiles_of
from yantra.compute.model import Device, Kernels, kernels
from yantra.run.simulate import simulate
from yantra.scenario.origin import digests

A100 = load("a100")
SIZES = st.integers(1, 6000)


def product(m: int, n: int, k: int, batch: int = 1) -> Kernels:
    moved = 2 * batch * (m * k + k * n + m * n)
    flops = 2 * batch * m * n * k
    return kernels([flops], [moved], "gemm", "bf16", m=[m], n=[n], k=[k], batch=[batch])


def taken(device: Any, *size: int) -> float:
    return float(seconds(device, product(*size))[0])


@pytest.mark.parametrize(("name", "published"), [("a100", 826.0), ("mi210", 724.0)])
def test_real_dies_come_out_within_a_tenth(name: str, published: float) -> None:
    assert die_mm2(load(name)) == pytest.approx(published, rel=0.10)


@pytest.mark.parametrize(
    ("name", "matrix", "vector"), [("a100", 312e12, 19.5e12), ("mi210", 181e12, 22.6e12)]
)
def test_rates_follow_from_the_parts(name: str, matrix: float, vector: float) -> None:
    device = load(name)
    assert device.matrix_flops == pytest.approx(matrix, rel=1e-3)
    assert device.vector_flops == pytest.approx(vector, rel=2e-3)


def test_area_is_its_formulas() -> None:
    assert fpu_transistors(64) == 685_300
    assert fpu_transistors(16) == pytest.approx(685_300 * (10 / 52) ** 2, rel=1e-12)
    assert sram_mm2(1 << 20, "7nm") == pytest.approx(8 * 2**20 * 1.70e-7 / 0.561, rel=1e-12)
    assert sram_mm2(4096, "5nm") == pytest.approx(8 * 4096 * 1.25e-7 / 0.076, rel=1e-12)
    deep, wide, ports = 512, 1024, 3
    by_hand = 3.29e4 - 1.09e3 * deep - 883 * wide - 5.55e3 * ports + 53.5 * deep * wide
    by_hand += 0.015 * deep**2 + 0.0108 * wide**2 + 0.586 * ports**2
    by_hand += 142 * deep * ports + 368 * wide * ports
    assert registers_mm2(1 << 16, 32, 91.2) == pytest.approx(by_hand * 1e-6 * 1.45 / 91.2, rel=1e-9)
    parts = parts_mm2(A100)
    assert parts["crossbars"] == pytest.approx(128 * 55e6 / 91.2e6, rel=1e-9)
    assert parts["interfaces"] == pytest.approx(6 * 10.45 + 12 * 1.888 + 16 * 0.48, rel=1e-9)
    assert die_mm2(A100) == pytest.approx(sum(parts.values()), rel=1e-12)


def test_a_denser_process_needs_less_area_and_interfaces_stay() -> None:
    denser = A100.replace(process=A100.process.replace(million_transistors_per_mm2=182.4))
    before, after = parts_mm2(A100), parts_mm2(denser)
    assert after["control"] == pytest.approx(before["control"] / 2)
    assert after["interfaces"] == before["interfaces"]
    assert after["global buffer"] == before["global buffer"]


def test_a_die_costs_its_share_of_a_wafer_and_of_the_dies_that_fail() -> None:
    dies = pi * 150**2 / 826 - pi * 300 / sqrt(2 * 826)
    good = (1 + 8.26 * 0.1 / 3) ** -3
    assert dies_per_wafer(826, 300) == pytest.approx(dies, rel=1e-12)
    assert yield_of(826, 0.1, 3) == pytest.approx(good, rel=1e-12)
    assert cost_of(A100, 826).die_usd == pytest.approx(9346 / (dies * good), rel=1e-12)
    assert yield_of(826, 0.0, 3) == 1
    assert cost_of(A100.replace(process=A100.process.replace(wafer_usd=None)), 826).die_usd is None


def test_a_die_larger_than_a_wafer_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="does not fit on a wafer of 300 mm"):
        cost_of(A100, 80_000)


def test_power_is_energy_times_rate() -> None:
    power = parts_w(A100)
    assert power["systolic arrays"] == pytest.approx(A100.matrix_flops / 2 * 0.72e-12, rel=1e-9)
    assert power["memory"] == pytest.approx(2039e9 * 350 / 8 * 1e-12, rel=1e-9)
    assert sum(power.values()) < 400  # the data sheet's, which has leakage and losses, too


@given(SIZES, SIZES, SIZES, st.integers(1, 8))
def test_nothing_beats_the_arrays_nor_the_memory(m: int, n: int, k: int, batch: int) -> None:
    rows = product(m, n, k, batch)
    least = max(rows.flops[0] / A100.matrix_flops, rows.bytes[0] / A100.memory.bytes_per_s)
    assert seconds(A100, rows)[0] >= least * (1 - 1e-12)


@given(SIZES, SIZES, SIZES)
def test_more_of_anything_around_the_cores_never_takes_longer(m: int, n: int, k: int) -> None:
    now = taken(A100, m, n, k)
    buffer, memory = A100.global_buffer, A100.memory
    for better in (
        A100.replace(memory=memory.replace(bytes_per_s=2 * memory.bytes_per_s)),
        A100.replace(global_buffer=buffer.replace(bytes_per_s=2 * buffer.bytes_per_s)),
        A100.replace(global_buffer=buffer.replace(size_bytes=2 * buffer.size_bytes)),
        A100.replace(clock_hz=2 * A100.clock_hz),
    ):
        assert taken(better, m, n, k) <= now * (1 + 1e-12)


@given(SIZES, SIZES, SIZES)
def test_a_longer_sum_never_takes_less(m: int, n: int, k: int) -> None:
    assert taken(A100, m, n, k + 1) >= taken(A100, m, n, k) * (1 - 1e-12)


def test_waves_make_a_staircase() -> None:
    one_wave = [taken(A100, 256 * 12, 128 * 9, 65536), taken(A100, 256 * 12 + 1, 128 * 9, 65536)]
    assert one_wave[1] > 1.05 * one_wave[0]  # 108 tiles on 108 cores, then more


def test_columns_are_answered_as_one_by_one() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 5000, (20, 3)).tolist()
    m, n, k = (list(column) for column in zip(*sizes, strict=True))
    flops = [2 * a * b * c for a, b, c in sizes]
    moved = [2 * (a * c + c * b + a * b) for a, b, c in sizes]
    together = seconds(A100, kernels(flops, moved, "gemm", "bf16", m=m, n=n, k=k))
    assert together.tolist() == [taken(A100, *size) for size in sizes]


def test_tiles_fit_the_buffers_of_a_core() -> None:
    for name in names():
        device = load(name)
        for tile in tiles_of(device):
            assert 4 * tile.m * tile.n <= device.registers_bytes * device.lanes
            assert 2 * 2 * (tile.m + tile.n) * tile.k <= device.local_buffer_bytes


def test_a_kernel_that_is_no_product_takes_its_vector_operations_or_its_bytes() -> None:
    rows = kernels([10**12, 10**6], [1000, 2039 * 10**6], "norm", "bf16")
    assert seconds(A100, rows) == pytest.approx([1e12 / A100.vector_flops, 1e-3])


def test_a_scenario_runs_on_a_described_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trace = TraceBuilder()
    trace.compute(num_ops=10**9, tensor_size=2039 * 10**6)
    for rank in range(2):
        trace.build().write(f"step.{rank}.et")
    file = Path(__file__).parents[2] / "src/yantra/compute/devices/dies/a100.yaml"
    Path("mine.yaml").write_text(file.read_text().replace("2039 GB/s", "1019.5 GB/s"))
    for device, milliseconds in (("a100", 1), ("mine.yaml", 2)):
        Path("step.yaml").write_text(f"""
workload: {{traces: "step.{{rank}}.et"}}
cluster:
  topology: [{{kind: ring, size: 2, bandwidth: 50 GB/s, latency: 1 us}}]
  device: {{compute: {{kind: described, options: {{device: {device}}}}}}}
""")
        step = scenarios.load(tmp_path / "step.yaml")
        assert simulate(step).makespan_ns == milliseconds * 1e6 + 4500
        named = [paths for paths in digests(step) if paths.endswith(".yaml")]
        assert named == ([] if device == "a100" else [str(tmp_path / device)])
        assert scenarios.loads(scenarios.to_yaml(step, str(tmp_path)), str(tmp_path)) == step


def test_a_what_if_makes_the_description_faster() -> None:
    model = model_of(Plugin(kind="described", options=(("device", "a100"),)))
    rows = product(4096, 4096, 4096)
    rows = rows.replace(dtypes=("", "fp32"))
    free = model.estimate(rows, Device(float("inf"), float("inf")))
    assert free.middle[0] == A100.launch_ns


def test_the_command_shows_what_follows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", "show", "a100", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["area_mm2"]["die"] == pytest.approx(die_mm2(A100))
    assert told["cost"]["die_usd"] > 0
    assert main(["device", "show", "a100"]) == 0
    assert "die 841 mm2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("cores: 108", "cores: 0"), "mine.yaml: cores: must be at least 1; got 0"),
        (("clock: 1.41 GHz", "clock: 1.41"), "mine.yaml: clock: a number needs its unit"),
        (("lanes: 4", "lane: 4"), "mine.yaml: lane: unknown key; did you mean 'lanes'?"),
        (("cores_on_die: 128", "cores_on_die: 64"), "cores_on_die: must not be below cores"),
        (("kind: hbm2e", "kind: hbm9"), "memory.kind: expected one of hbm2e, ddr5"),
        (("launch: 4.5 us  #", "process: {}  #"), "mine.yaml"),
    ],
)
def test_a_wrong_description_is_refused_at_its_key(
    change: tuple[str, str], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path(__file__).parents[2] / "src/yantra/compute/devices/dies/a100.yaml"
    Path("mine.yaml").write_text(file.read_text().replace(*change))
    with pytest.raises(ConfigError) as refused:
        load("mine.yaml")
    assert problem in str(refused.value)


def test_an_unknown_device_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="expected one of a100, mi210, or the path"):
        load("a10")


@pytest.mark.parametrize(
    ("name", "dtype", "teraflops"),
    [
        ("a100", "bf16", 312),
        ("a100", "int8", 624),
        ("a100", "fp8", 312),  # not there, so in FP16
        ("a100", "tf32", 156),
        ("a100", "fp32", 19.5),  # the arrays have FP64, which is as fast as the vector units
        ("a100", "fp64", 19.5),
        ("mi210", "fp64", 45.3),
    ],
)
def test_types_have_rates_of_their_own(name: str, dtype: str, teraflops: float) -> None:
    device = load(name)
    assert device.matrix_flops * device.matrix_rate(dtype) == pytest.approx(
        teraflops * 1e12, rel=2e-3
    )
    m = n = k = 16384
    rows = kernels([2 * m * n * k], [2 * 3 * m * n], "gemm", dtype, m=[m], n=[n], k=[k])
    taken = seconds(device, rows)[0]
    assert taken == pytest.approx(2 * m * n * k / (teraflops * 1e12), rel=0.03)


def test_a_type_that_nothing_computes_is_refused() -> None:
    bare = A100.replace(rates=A100.rates.replace(fp64=0.0), vector=A100.vector.replace(fp64=0))
    with pytest.raises(ConfigError, match=r"has no units for fp64; give vector.fp64 or rates"):
        bare.matrix_rate("fp64")
