"""Recorded kernels on another GPU: laws of the carried time, and what a run says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main
from yantra.compute.model import Kernels, kernels
from yantra.compute.retarget.carry import carried, summed
from yantra.compute.retarget.gpus import GPUS, device_named, gpu_named
from yantra.compute.retarget.laws import KEPT, filled, rate, times_us, type_on
from yantra.compute.retarget.libraries import library_of, not_on

H100, MI300X, A100, V100 = (gpu_named(name, "") for name in ("h100-sxm", "mi300x", "a100", "v100"))
CLASSES = ("gemm", "conv", "attention", "norm", "softmax", "elementwise", "copy", "reduction",
           "embedding", "optimizer", "other", "delay", "host_copy")  # fmt: skip


def rows(recorded: int = 50_000, scale: int = 1, dtype: str = "bf16") -> Kernels:
    """One kernel of each class, products of 512 x 1024 x 1024 rows times `scale`."""
    count = len(CLASSES)
    m = 512 * scale
    return kernels(
        [2 * m * 1024 * 1024] * count, [6 * m * 1024] * count, CLASSES, dtype,
        recorded_ns=[recorded] * count, m=[m] * count, n=[1024] * count, k=[1024] * count,
        batch=[1] * count, heads=[16] * count, head_dim=[64] * count, value_dim=[64] * count,
        queries=[m] * count, keys=[m] * count,
    )  # fmt: skip


@pytest.mark.parametrize("name", sorted(GPUS))
def test_to_itself_nothing_changes(name: str) -> None:
    part = rows()
    made = carried(part, GPUS[name], GPUS[name])
    for column in made:
        assert column.tolist() == part.recorded_ns.tolist()


@pytest.mark.parametrize("source", sorted(GPUS))
def test_every_gpu_has_a_time_for_every_class_and_type(source: str) -> None:
    for dtype in ("", "fp32", "tf32", "bf16", "fp16", "fp8"):
        made = carried(rows(dtype=dtype), GPUS[source], MI300X if source != "mi300x" else H100)
        assert (made.low > 0).all() and np.isfinite(made.high).all()
        assert (made.low <= made.middle).all() and (made.middle <= made.high).all()


def test_delays_and_copies_over_the_host_stay() -> None:
    made = carried(rows(), H100, MI300X)
    for name in KEPT:
        place = CLASSES.index(name)
        assert {float(column[place]) for column in made} == {50_000.0}


@settings(max_examples=15)
@given(st.integers(1000, 10**7), st.integers(2, 50))
def test_what_took_longer_there_takes_longer_here(recorded: int, times: int) -> None:
    short, long = (carried(rows(at), H100, MI300X).middle for at in (recorded, recorded * times))
    assert (short <= long).all()


@pytest.mark.parametrize(("name", "share"), [("conv", 0.26), ("attention", 0.26), ("norm", 0.9)])
def test_a_kernel_twice_as_slow_as_its_law_keeps_its_share_of_that(name: str, share: float) -> None:
    place = CLASSES.index(name)
    once, twice = (carried(rows(at, 16), H100, MI300X).middle[place] for at in (10**6, 2 * 10**6))
    assert twice / once == pytest.approx(2**share)


def small(recorded: int, m: int, n: int, k: int) -> Kernels:
    return kernels(
        [2 * m * n * k], [4 * (m * n + n * k + m * k)], "gemm", "fp32", recorded_ns=[recorded],
        m=[m], n=[n], k=[k], batch=[1],
    )  # fmt: skip


def test_a_products_launch_and_idle_units_are_carried_as_other_kernels() -> None:
    """By hand: 16 x 512 x 512 takes one of a V100's units 45 us by the law, its rates 1.7 us."""
    part = small(12_000, 16, 512, 512)
    assert filled(part, "gemm", "fp32", V100)[0] == pytest.approx(1.7 / 45, rel=0.1)
    law = [times_us(part, "gemm", "fp32", gpu)[0] for gpu in (V100, A100)]
    made = carried(part, V100, A100).middle[0]
    assert made == pytest.approx(1000 * law[1] * (12 / law[0]) ** 0.9, rel=0.05)
    large = [small(at, 8192, 8192, 8192) for at in (10**8, 2 * 10**8)]
    assert filled(large[0], "gemm", "fp32", V100)[0] > 0.9
    once, twice = (carried(one, V100, A100).middle[0] for one in large)
    assert twice / once == pytest.approx(2**0.26, rel=0.05)


@settings(max_examples=10)
@given(st.integers(1, 64))
def test_more_work_takes_longer_by_each_law(scale: int) -> None:
    for gpu in (H100, MI300X, A100):
        for name in CLASSES[:-2]:
            less, more = (
                times_us(rows(scale=one), name, "bf16", gpu)[0] for one in (scale, scale + 1)
            )
            assert less <= more * (1 + 1e-12), (gpu.name, name)


@pytest.mark.parametrize("name", CLASSES[:-2])
def test_a_gpu_with_twice_the_rates_takes_less(name: str) -> None:
    faster = MI300X._replace(
        peaks={kind: 2 * peak for kind, peak in MI300X.peaks.items()},
        memory_bytes_per_s=2 * MI300X.memory_bytes_per_s,
    )
    place = CLASSES.index(name)
    part = rows(scale=64)
    slow, fast = (carried(part, H100, gpu).middle[place] for gpu in (MI300X, faster))
    assert slow / 2 <= fast < slow


def test_small_kernels_have_a_floor() -> None:
    tiny = kernels([1], [64], "elementwise", "fp32", recorded_ns=[10])
    here = carried(tiny, H100, MI300X).middle[0]
    assert here > 10
    usual = kernels([1], [64], "elementwise", "fp32", recorded_ns=[3000])
    assert 2000 < carried(usual, H100, MI300X).middle[0] < 10_000


def test_a_kernel_of_unknown_work_follows_the_rates() -> None:
    for name in ("elementwise", "gemm", "attention"):
        unknown = kernels([0], [0], name, "bf16", recorded_ns=[10**9])
        here = carried(unknown, H100, MI300X).middle[0]
        slower = rate(name, "bf16", H100) / rate(name, "bf16", MI300X)
        assert here == pytest.approx(10**9 * slower, rel=1e-3)


def test_types_are_told_apart() -> None:
    products = [carried(rows(scale=16, dtype=kind), H100, MI300X).middle[0]
                for kind in ("fp32", "tf32", "bf16")]  # fmt: skip
    assert len({round(one) for one in products}) == 3
    assert type_on(MI300X, "tf32", "gemm") == "fp32"
    assert type_on(H100, "fp32", "conv") == "tf32"
    assert type_on(H100, "fp32", "gemm") == "fp32"


def test_classes_err_apart_and_kernels_of_one_together() -> None:
    part = kernels([0, 0], [10**9, 10**9], "elementwise", "bf16", recorded_ns=[10**6] * 2)
    made = carried(part, H100, MI300X)
    _, here, low, high = summed(part, made)
    assert here == pytest.approx(made.middle.sum())
    assert (low, high) == pytest.approx((made.low.sum(), made.high.sum()))
    two = kernels([0, 0], [10**9, 10**9], ["elementwise", "copy"], "bf16", recorded_ns=[10**6] * 2)
    apart = carried(two, H100, MI300X)
    _, _, low, high = summed(two, apart)
    assert apart.low.sum() < low and high < apart.high.sum()


@pytest.mark.parametrize(
    ("kernel", "library"),
    [
        ("Cijk_Alik_Bljk_BBS_BH_MT256x128", "Tensile (hipBLASLt, rocBLAS)"),
        ("void cutlass::Kernel<cutlass_80_tensorop>", "CUTLASS"),
        ("nvjet_hsh_128x256_64x4", "cuBLAS"),
        ("void at::native::vectorized_elementwise_kernel<4>", ""),
    ],
)
def test_libraries_by_name(kernel: str, library: str) -> None:
    assert library_of(kernel) == library


def test_what_another_gpu_lacks_is_named_once() -> None:
    used = ["nvjet_a", "nvjet_b", "cutlass_x", "Cijk_y", "triton_poi_fused_add_0"]
    assert not_on(MI300X, used) == ["CUTLASS", "cuBLAS"]
    assert not_on(H100, used) == ["Tensile (hipBLASLt, rocBLAS)"]
    assert not_on(A100, ["void FlashAttnFwdSm90<>"]) == ["FlashAttention 3"]


@pytest.mark.parametrize("name", ["h100-sxm", "H100 SXM", "hgx-h100", "h100_sxm"])
def test_names_of_a_gpu(name: str) -> None:
    assert gpu_named(name, "") is H100


@pytest.mark.parametrize(
    ("reported", "name"),
    [
        ("Tesla V100-SXM2-32GB", "v100_sxm"),
        ("Tesla V100-PCIE-16GB", "v100_pcie"),
        ("Tesla P100-PCIE-16GB", "p100_pcie"),
        ("Tesla T4", "t4"),
        ("A100-SXM4-40GB", "a100_sxm_40gb"),
        ("NVIDIA A100-SXM4-80GB", "a100_sxm"),
        ("NVIDIA A100-PCIE-40GB", "a100_pcie"),
        ("NVIDIA H100 80GB HBM3", "h100_sxm"),
        ("NVIDIA H200", "h200_sxm"),
        ("NVIDIA H800", "h800_sxm"),
        ("NVIDIA H20", "h20_sxm"),
        ("NVIDIA B200", "b200_sxm"),
        ("NVIDIA B300 SXM6 AC", "b300_sxm"),
        ("NVIDIA GB200", "gb200"),
        ("NVIDIA GB300", "gb300"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA GeForce RTX 3090", "rtx_3090"),
        ("NVIDIA GeForce RTX 4090", "rtx_4090"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx_pro_6000"),
        ("AMD Instinct MI300X VF", "mi300x"),
        ("AMD Instinct MI325X", "mi325x"),
        ("AMD Instinct MI355X", "mi355x"),
        ("AMD Instinct MI210", "mi210"),
        ("NVIDIA H100 PCIe", ""),  # other rates, so none of ours
        ("NVIDIA A100 80GB PCIe", ""),
        ("NVIDIA GH200 480GB", ""),
        ("AMD Instinct MI250X", ""),  # a die of two
    ],
)
def test_a_gpu_is_known_as_its_driver_calls_it(reported: str, name: str) -> None:
    assert device_named(reported) == name
    if name:
        assert gpu_named(reported, "") is GPUS[name]


def test_an_unknown_gpu_is_refused_with_those_known() -> None:
    with pytest.raises(ConfigError, match=r"as h100-sxn; .*h100-sxm, .*did you mean 'h100-sxm'"):
        gpu_named("h100-sxn", "--from")


# ------------------------------------------------------------------------------- the command


@pytest.fixture
def recording(tmp_path: Path) -> str:
    """Two kernels and a delay on each of two ranks."""
    for rank in range(2):
        builder = TraceBuilder()
        product = builder.compute(
            "nvjet_hsh_128x256",
            duration_micros=100,
            num_ops=2 * 4096**3,
            tensor_size=6 * 4096**2,
        )
        wait = builder.compute("delay", duration_micros=40, after=product)
        sum_ = builder.compute("add", duration_micros=50, num_ops=1, tensor_size=10**8, after=wait)
        for node, name in ((product, "gemm"), (wait, "delay"), (sum_, "elementwise")):
            node.set("op_class", name)
            node.set("dtype", "bf16")
        for side in "mnk":
            product.set(side, 4096)
        builder.build().write(tmp_path / f"job.{rank}.et")
    return str(tmp_path / "job.{rank}.et")


Said = pytest.CaptureFixture[str]


def _figures(said: Said, *arguments: str) -> dict[str, Any]:
    assert main(["run", *arguments, "--json"]) == 0
    document: dict[str, Any] = json.loads(said.readouterr().out)
    return document


def test_a_run_to_itself_is_the_recording(recording: str, capsys: Said) -> None:
    document = _figures(capsys, recording, "--cluster", "hgx-h100", "--from", "h100-sxm")
    assert document["makespan_ns"] == 190_000
    (whole, *_) = document["figures"]["carried"]
    assert whole["recorded_ns"] == whole["ns"] == whole["low_ns"] == whole["high_ns"] == 300_000
    assert "not_there" not in document["figures"]


def test_carrying_kernels_changes_no_collective(tmp_path: Path, capsys: Said) -> None:
    """Measured ones stay, of twice the time of bytes at the rate of a link, and more."""
    for rank in range(4):
        builder = TraceBuilder()
        builder.collective(CollectiveType.ALL_REDUCE, 65_536)
        builder.build().write(tmp_path / f"job.{rank}.et")
    where = (str(tmp_path / "job.{rank}.et"), "--cluster", "hgx-h100")
    plain, carried_too, roofline = (
        _figures(capsys, *where, *more)["makespan_ns"]
        for more in ((), ("--from", "h100-sxm"), ("--from", "h100-sxm", "--stack", "roofline"))
    )
    assert plain == carried_too > 2 * roofline


def test_a_run_elsewhere_has_an_interval_for_each_class_and_the_whole(
    recording: str, capsys: Said
) -> None:
    document = _figures(capsys, recording, "--cluster", "mi300x", "--from", "h100-sxm")
    figures = document["figures"]
    whole, *classes = figures["carried"]
    assert {row["op_class"] for row in classes} == {"gemm", "elementwise"}
    assert sum(row["ns"] for row in classes) == pytest.approx(whole["ns"])
    assert all(row["low_ns"] < row["ns"] < row["high_ns"] for row in figures["carried"])
    assert figures["time_low_ns"] < document["makespan_ns"] < figures["time_high_ns"]
    assert document["makespan_ns"] == pytest.approx(whole["ns"] / 2 + 40_000, abs=2)
    assert figures["not_there"] == ["cuBLAS"]


def test_a_what_if_on_the_bandwidth_counts(recording: str, capsys: Said) -> None:
    given = (recording, "--cluster", "mi300x", "--from", "h100-sxm")
    usual = _figures(capsys, *given)["makespan_ns"]
    faster = _figures(capsys, *given, "--set", "cluster.device.memory_bandwidth=x2")["makespan_ns"]
    assert faster < usual


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--from", "h100-sxm"), "--from goes with --cluster"),
        (("--cluster", "mi300x", "--from", "nothing"), "no GPU is known as nothing"),
        (("--cluster", "gaudi3", "--from", "h100-sxm"), "no GPU is known as Gaudi 3"),
        (
            ("--cluster", "mi300x", "--from", "a100", "--set", "cluster.device.compute=recorded"),
            "--from chooses the compute model",
        ),
    ],
)
def test_wrong_uses_are_refused(
    recording: str, arguments: tuple[str, ...], said: str, capsys: Said
) -> None:
    assert main(["run", recording, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_traces_without_recorded_times_are_refused(tmp_path: Path, capsys: Said) -> None:
    builder = TraceBuilder()
    builder.compute("k", num_ops=10**9, tensor_size=10**6).set("op_class", "gemm")
    builder.build().write(tmp_path / "job.0.et")
    given = (str(tmp_path / "job.{rank}.et"), "--cluster", "mi300x", "--from", "a100")
    assert main(["run", *given]) == 2
    assert "no kernel has a recorded time" in capsys.readouterr().err
