"""Laws of the compute model `measured`: kernels by tables of published measurements."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tests.cases import cluster, scenario
from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin
from yantra.chakra import TraceBuilder
from yantra.compile import compile
from yantra.compute import model_of
from yantra.compute.answers import ask
from yantra.compute.families import families, family_of
from yantra.compute.families.machine import GPUS, table
from yantra.compute.model import Device, Estimates, kernels
from yantra.scenario import Device as ScenarioDevice
from yantra.scenario import cluster_parts
from yantra.scenario.named import parts_at

H100 = Device(peak_flops=989.4e12, memory_bytes_per_s=3.35e12)
SIZES = np.array([1024, 2048, 4096, 8192, 16384])


def measured(**options: Any) -> Any:
    return model_of(Plugin(kind="measured", options=tuple(options.items())))


def products(m: Any, n: Any, k: Any, dtype: str = "bf16", **columns: Any) -> Any:
    m, n, k = np.broadcast_arrays(*(np.atleast_1d(size) for size in (m, n, k)))
    given = {name: np.broadcast_to(column, m.shape) for name, column in columns.items()}
    given |= {"m": m, "n": n, "k": k}
    return kernels(2 * m * n * k, 2 * (m * k + k * n + m * n), "gemm", dtype, **given)


def of(rows: Any, device: Device = H100, **options: Any) -> Estimates:
    return ask(measured(**({"gpu": "h100_sxm"} | options)), rows, device, "measured")


def attention(dtype: str = "bf16", phase: str = "forward", **sizes: int) -> Any:
    shape = {"batch": 1, "heads": 32, "kv_heads": 8, "head_dim": 128, "value_dim": 128}
    shape |= {"queries": 4096, "keys": 4096} | sizes
    pairs = shape["batch"] * shape["heads"] * shape["queries"] * shape["keys"] // 2
    columns = {name: [size] for name, size in shape.items()}
    return kernels([4 * 128 * pairs], [10**8], "attention", dtype, phase, **columns)


@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
@pytest.mark.parametrize("axis", ["m", "n", "k"])
def test_twice_the_work_takes_no_less(axis: str, dtype: str) -> None:
    for side in (1024, 4096, 8192):
        sizes = {"m": side, "n": side, "k": side} | {axis: SIZES}
        times = of(products(**sizes, dtype=dtype)).middle
        assert (np.diff(times) > 0).all(), times


@pytest.mark.parametrize("gpu", [gpu for gpu in GPUS if table("gemm", gpu)])
def test_twice_a_large_product_hardly_ever_takes_less(gpu: str) -> None:
    random = np.random.default_rng(1)
    sizes = [np.exp2(random.uniform(low, 15, 4000)).astype(int) for low in (9, 10, 10)]
    once = of(products(*sizes), gpu=gpu).middle
    for axis in range(3):
        twice = [size * (1 + (at == axis)) for at, size in enumerate(sizes)]
        ratio = of(products(*twice), gpu=gpu).middle / once
        assert np.mean(ratio < 1) < 0.005
        assert ratio.min() > 0.75


def test_one_row_more_takes_at_most_a_wave_less() -> None:
    rows = np.arange(4096, 4096 + 512)
    times = of(products(rows, 4096, 4096)).middle
    assert (times[1:] > 0.97 * times[:-1]).all()


def test_a_product_that_begins_a_wave_takes_longer_than_its_operations() -> None:
    """BLOOM with 1,800 columns on a rank took 38 % longer than with 1,728 for 8.5 % more work."""
    even, odd = of(products(4096, np.array([1536, 1568]), 14336)).middle
    assert odd / even > 1568 / 1536


def test_a_large_product_is_slower_than_the_peak_and_faster_than_half_of_it() -> None:
    peaks = {"bf16": 989.4e12, "fp8": 1978.9e12}
    for dtype, peak in peaks.items():
        ns = of(products(8192, 8192, 8192, dtype), quantise=False).middle
        assert 0.5 < 2 * 8192**3 / (ns[0] * 1e-9) / peak < 0.9


def test_the_type_of_the_operation_decides_its_rate() -> None:
    whole, eight = (of(products(8192, 8192, 8192, dtype)).middle[0] for dtype in ("bf16", "fp8"))
    assert eight < 0.8 * whole
    asked = of(products(8192, 8192, 8192), products="fp8").middle[0]
    assert asked == eight
    assert of(attention(), products="fp8").middle[0] == of(attention()).middle[0]


def test_a_trace_that_chose_the_type_of_each_product_keeps_it() -> None:
    one, other = products(4096, 4096, 4096), products(4096, 4096, 4096, "fp8")
    both = kernels(
        [2 * 4096**3] * 2, [10**8] * 2, "gemm", ["bf16", "fp8"],
        m=[4096] * 2, n=[4096] * 2, k=[4096] * 2,
    )  # fmt: skip
    times = of(both, products="fp8").middle
    assert times.tolist() == [of(one).middle[0], of(other).middle[0]]


def test_operands_of_8_bits_are_made_first_unless_they_are_there() -> None:
    rows = products(8192, 8192, 8192, "fp8")
    extra = (of(rows).middle - of(rows, quantise=False).middle)[0]
    assert extra == pytest.approx(8192**2 * 3 / (3.35e12 * 0.8) * 1e9, rel=1e-9)


@pytest.mark.parametrize(("dtype", "bytes_each"), [("fp8", 3), ("fp8_block", 1)])
def test_gradients_of_weights_take_operands_by_columns(dtype: str, bytes_each: int) -> None:
    # Written a second time, and read once more for their maximum where a tensor has one scale.
    rows = products(4096, 8192, 16384, dtype=dtype).replace(
        phase=np.array([1], np.uint32), phases=("", "wgrad")
    )
    b200 = GPUS["b200_sxm"]
    device = Device(b200.peaks["bf16"], b200.memory_bytes_per_s)
    with_, without = (
        of(rows, device, gpu="b200_sxm", quantise=quantise).middle[0] for quantise in (True, False)
    )
    moved = (4096 + 8192) * 16384 * bytes_each
    assert with_ - without == pytest.approx(moved / (0.8 * 8e12) * 1e9, rel=1e-6)


def test_accumulation_of_a_gradient_reads_and_writes_it_once_more() -> None:
    plain = of(products(8192, 8192, 4096)).middle
    added = of(products(8192, 8192, 4096, accumulated=4 * 8192**2)).middle
    assert (added - plain)[0] == pytest.approx(0.6 * 8 * 8192**2 / 3.35e12 * 1e9, rel=1e-9)


def test_a_type_without_a_rate_is_refused() -> None:
    with pytest.raises(ConfigError, match="fp4 has no rate on H100 SXM; expected one of"):
        of(products(4096, 4096, 4096, "fp4"))
    with pytest.raises(ConfigError, match=r"no tables of h100; expected one of .*did you mean"):
        of(products(4096, 4096, 4096), gpu="h100")


def test_a_device_without_tables_is_scaled_from_the_nearest_with_a_wider_interval() -> None:
    rows = products(8192, 8192, 8192)
    twice = Device(peak_flops=2 * 989.4e12, memory_bytes_per_s=2 * 3.35e12)
    own, scaled = of(rows), of(rows, twice)
    # What is peculiar to this product on an H100 fades on a device that far from it.
    assert scaled.middle[0] == pytest.approx(own.middle[0] / 2, rel=0.12)
    assert scaled.high[0] / scaled.middle[0] > own.high[0] / own.middle[0]
    assert measured(gpu="h100_sxm").basis(rows, H100) == "measured GEMM tables of H100 SXM"
    assert "scaled by the data sheets" in measured(gpu="h100_sxm").basis(rows, twice)
    assert measured().basis(rows, H100) == "measured GEMM tables of H100 SXM"


def test_the_interval_is_wider_outside_the_table() -> None:
    inside, outside = of(products(8192, 8192, np.array([8192, 2**19])))[1:]
    width = outside / inside
    assert width[1] > width[0] + 0.1


@pytest.mark.parametrize("gpu", [gpu for gpu in GPUS if table("prefill", gpu)])
def test_attention_over_more_tokens_or_heads_takes_longer(gpu: str) -> None:
    lengths = [of(attention(queries=n, keys=n), gpu=gpu).middle[0] for n in (1024, 2048, 8192)]
    assert lengths == sorted(lengths)
    heads = [of(attention(heads=n), gpu=gpu).middle[0] for n in (16, 32, 64)]
    assert heads == sorted(heads)
    caches = [of(attention(batch=64, queries=1, keys=n), gpu=gpu).middle[0] for n in (512, 4096)]
    assert caches == sorted(caches)


def test_decoding_from_a_cache_in_8_bits_takes_less() -> None:
    """The bytes show what the cache is in: 2 or 1 for each number of keys and values."""
    rows = attention(batch=64, queries=1, keys=8192)
    numbers = 64 * 8 * 2 * 128 * 8192
    sixteen, eight = (
        of(rows.replace(bytes=np.array([width * numbers]))).middle[0] for width in (2, 1)
    )
    assert eight < 0.8 * sixteen


def test_a_window_bounds_the_time_of_long_sequences() -> None:
    whole = of(attention(queries=16384, keys=16384)).middle[0]
    assert of(attention(queries=16384, keys=16384, window=128)).middle[0] < whole / 4


def test_the_backward_of_attention_takes_one_to_four_times_the_forward() -> None:
    for heads in (4, 8, 32, 128):
        forward = of(attention(heads=heads)).middle[0]
        assert 1 < of(attention(phase="dgrad", heads=heads)).middle[0] / forward < 4


def test_heads_with_narrower_values_have_the_rate_of_heads_as_wide_as_those() -> None:
    # Latent attention: the kernel is one for values of 128, with wider products for the scores.
    sizes = {"batch": 1, "queries": 4096, "keys": 4096, "heads": 128, "kv_heads": 128}
    for phase, operations in (("forward", (192 + 128) / 256), ("dgrad", (3 * 192 + 2 * 128) / 640)):
        equal = of(attention(phase=phase, **sizes, head_dim=128)).middle[0]
        latent = of(attention(phase=phase, **sizes, head_dim=192, value_dim=128)).middle[0]
        padded = of(attention(phase=phase, **sizes, head_dim=192, value_dim=192)).middle[0]
        assert latent == pytest.approx(equal * operations, rel=0.02)
        assert latent < padded


@pytest.mark.parametrize(
    ("gpu", "heads", "forward_us", "backward_us"),
    [
        # SimuMax's machine profiles (NOTICE): queries and keys of 192, values of 128, 4096 tokens.
        # Beside each what the tables gave when it was compared, so that a change is noticed.
        ("b200_sxm", 128, (735, 787.166), (2377, 2386.993)),
        ("b200_sxm", 64, (345, 400.59), (1255, 1241.746)),
        ("b200_sxm", 32, (194, 213.335), (626, 608.402)),
        ("b200_sxm", 16, (120, 123.032), (322, 312.338)),
        ("a100_sxm", 128, (4106, 4009.843), (13734, 13110.164)),
        ("a100_sxm", 16, (601, 628.094), (1830, 1713.603)),
    ],
)
def test_latent_attention_is_within_a_fifth_of_another_labs(
    gpu: str, heads: int, forward_us: tuple[float, float], backward_us: tuple[float, float]
) -> None:
    sizes = {"batch": 1, "queries": 4096, "keys": 4096, "heads": heads, "kv_heads": heads}
    device = Device(GPUS[gpu].peaks["bf16"], GPUS[gpu].memory_bytes_per_s)
    for phase, (us, recorded_us) in (("forward", forward_us), ("dgrad", backward_us)):
        rows = attention(phase=phase, **sizes, head_dim=192, value_dim=128)
        ours_us = of(rows, device, gpu=gpu).middle[0] / 1e3
        assert ours_us == pytest.approx(us, rel=0.2)
        assert ours_us == pytest.approx(recorded_us, rel=1e-5)


@pytest.mark.parametrize(
    ("tokens", "phase", "us"),
    [
        # SimuMax's B200 (NOTICE): 64 heads, queries and keys of 192, values of 128.
        (32768, "forward", 24065),
        (32768, "dgrad", 75310),
        (131072, "forward", 457324),
        (131072, "dgrad", 1188210),
    ],
)
def test_the_interval_of_long_latent_attention_holds_what_was_measured(
    tokens: int, phase: str, us: float
) -> None:
    sizes = {"batch": 1, "queries": tokens, "keys": tokens, "heads": 64, "kv_heads": 64}
    device = Device(GPUS["b200_sxm"].peaks["bf16"], GPUS["b200_sxm"].memory_bytes_per_s)
    rows = attention(phase=phase, **sizes, head_dim=192, value_dim=128)
    low, middle, high = of(rows, device, gpu="b200_sxm")
    assert low[0] / 1e3 < us < high[0] / 1e3
    assert high[0] / middle[0] < 3


def test_attention_without_a_mask_takes_nearly_twice() -> None:
    rows = attention(queries=8192, keys=8192)
    whole = rows.replace(flops=2 * rows.flops)
    assert 1.6 < of(whole).middle[0] / of(rows).middle[0] < 2.1


def test_experts_that_share_skewed_rows_take_longer() -> None:
    layer = {"batch": [16], "m": [256], "n": [4096], "k": [4096], "inner": [2048]}
    layer |= {"experts": [16], "top_k": [2]}
    rows = kernels([2 * 16 * 256 * 4096**2], [10**9], "grouped_gemm", "bf16", "forward", **layer)
    even, skewed = of(rows).middle[0], of(rows.replace(skew=np.array([120]))).middle[0]
    assert skewed > even


def test_a_layer_of_experts_is_the_sum_of_its_products_by_operations() -> None:
    sizes = {"batch": [8] * 2, "m": [256] * 2, "inner": [1536] * 2, "experts": [64] * 2}
    sizes |= {"n": [3072, 4096], "k": [4096, 1536], "top_k": [4] * 2}
    flops = [2 * 8 * 256 * 3072 * 4096, 2 * 8 * 256 * 1536 * 4096]
    first, second = of(kernels(flops, [10**8] * 2, "grouped_gemm", "bf16", **sizes)).middle
    assert first == pytest.approx(2 * second, rel=1e-9)


def test_experts_with_many_rows_take_at_most_as_long_as_one_after_the_other() -> None:
    rows, n, k, inner = 8192, 4096, 4096, 2048
    dense = of(kernels([2 * rows * n * k], [10**8], "gemm", "bf16", m=[rows], n=[n], k=[k]))
    layer = {"batch": [8], "m": [rows], "n": [n], "k": [k], "inner": [inner], "experts": [8]}
    layer |= {"top_k": [2]}
    experts = of(kernels([16 * rows * n * k], [10**9], "grouped_gemm", "bf16", **layer))
    assert experts.middle[0] <= 8 * dense.middle[0] * (1 + 1e-9)


def test_products_of_experts_take_at_least_as_long_as_one_of_all_their_rows() -> None:
    # What a measured layer moves is left out of its products: a trace has it as other kernels.
    for rows in (16, 128, 512):
        n, k, inner = 4096, 7168, 2048
        layer = {"batch": [32], "m": [rows], "n": [n], "k": [k], "inner": [inner], "experts": [256]}
        flops = 2 * 32 * rows * n * k
        experts = of(kernels([flops], [10**9], "grouped_gemm", "bf16", **layer, top_k=[8]))
        at_once = of(kernels([flops], [10**8], "gemm", "bf16", m=[32 * rows], n=[n], k=[k]))
        assert experts.middle[0] >= at_once.middle[0] * (1 - 1e-9)


@pytest.mark.parametrize(
    ("experts", "rows", "n", "k", "phase", "tflops", "recorded"),
    [
        # SimuMax's B200 (NOTICE). That machine's dense products take 1.43 times the tables' time.
        (20, 1232, 3072, 5120, "forward", 1155, 1406.3136),
        (32, 1024, 4096, 7168, "forward", 1028, 1531.4337),
        (32, 1024, 7168, 2048, "forward", 865, 1489.6966),
        (20, 1232, 3072, 5120, "dgrad", 948, 1378.3778),
        (32, 1024, 4096, 7168, "dgrad", 980, 1432.4006),
        (32, 1024, 7168, 2048, "dgrad", 968, 1432.4006),
    ],
)
def test_experts_with_many_rows_are_to_dense_products_as_another_lab_measured(
    experts: int, rows: int, n: int, k: int, phase: str, tflops: float, recorded: float
) -> None:
    inner = n // 2 if n < k else k
    m, n, k = (rows, n, k) if phase == "forward" else (rows, k, n)
    layer = {"batch": [experts], "m": [rows], "n": [n], "k": [k], "inner": [inner], "top_k": [6]}
    flops = 2 * experts * m * n * k
    rows_ = kernels([flops], [10**9], "grouped_gemm", "bf16", phase, **layer, experts=[160])
    gpu = GPUS["b200_sxm"]
    device = Device(gpu.peaks["bf16"], gpu.memory_bytes_per_s)
    ours = flops / of(rows_, device, gpu="b200_sxm").middle[0] / 1e3
    assert ours / 1.43 == pytest.approx(tflops, rel=0.25)
    assert ours == pytest.approx(recorded, rel=1e-5)  # when it was compared


def test_a_launch_is_hidden_behind_other_kernels_unless_each_is_alone() -> None:
    rows = kernels([0], [10**5], "elementwise", "bf16")
    behind, alone = of(rows).middle[0], of(rows, alone=True).middle[0]
    assert behind < 5_000 < 10_000 < alone


def test_every_class_belongs_to_one_family() -> None:
    claimed = [one for name in families.names() for one in families.get(name).op_classes]
    assert sorted(claimed) == sorted(family_of())


def test_named_clusters_have_the_tables_of_their_gpu() -> None:
    device = parts_at("hgx-h100", 8, speeds="measured")["device"]
    options = dict(device.compute.options)
    assert (options["gpu"], options["dtype"], options["fp8"]) == ("h100_sxm", "bf16", 1978.9e12)
    assert "products" not in options
    eight = parts_at("hgx-h100", 8, "fp8", speeds="measured")["device"]
    assert dict(eight.compute.options)["products"] == "fp8"
    achievable = cluster_parts("hgx-h100", 8, stack="roofline")["device"]
    assert achievable.compute == "roofline"


def named(cluster: str, rows: Any) -> tuple[str, Estimates]:
    device = parts_at(cluster, 8, speeds="measured")["device"]
    model = model_of(device.compute)
    asked = Device(device.peak_flops, device.memory_bytes_per_s)
    return model.basis(rows, asked), ask(model, rows, asked, "measured")


def test_a_named_cluster_without_tables_says_so_and_is_surer_of_its_generation() -> None:
    rows = products(8192, 8192, 8192)
    (own, h100), (like, gb300), (foreign, mi300x) = (
        named(name, rows) for name in ("hgx-h100", "gb300-nvl72", "mi300x")
    )
    assert own == "measured GEMM tables of H100 SXM"
    scaled = "measured GEMM tables of GB200 and B200 SXM, scaled by the data sheets"
    assert like.startswith(f"{scaled}, 0.7 octaves from the nearest")
    assert "of a device like none measured, 3.2 octaves" in foreign
    widths = [(one.high / one.middle)[0] for one in (h100, gb300, mi300x)]
    assert widths == sorted(widths)
    assert widths[2] > 1.4
    reached = 2 * 8192**3 / mi300x.middle[0] * 1e9
    assert reached == pytest.approx(668.4e12, rel=0.15)  # the best shape, as its file states


def test_an_interval_grows_with_octaves_to_the_nearest_measured_product() -> None:
    near, far = (of(products(m, 192, 768)) for m in (32768, 802816))
    widths = [(one.high / one.middle - 1)[0] for one in (near, far)]
    assert widths[1] > 3 * widths[0]


def test_what_estimates_rest_on_is_kept_for_summaries() -> None:
    def one(trace: TraceBuilder, rank: int) -> None:
        trace.compute(num_ops=10**12, tensor_size=10**9)

    device = ScenarioDevice(
        peak_flops=989.4e12, memory_bytes_per_s=3.35e12, compute=Plugin(kind="measured")
    )
    model = compile(scenario(cluster(("ring", 2, 50.0, 100.0)), one, device=device))
    (timed,) = model.kernels
    assert timed.basis == "measured memory-bound tables of H100 SXM"


def test_tables_are_read_only_when_they_are_used() -> None:
    code = "import sys, yantra, yantra.compute.measured; print('numpy' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


def test_tables_take_less_than_four_megabytes() -> None:
    from importlib.resources import files

    folder = files("yantra.compute") / "tables"
    assert sum(len(file.read_bytes()) for file in folder.iterdir()) < 4e6
