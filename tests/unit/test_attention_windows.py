"""Windows, unlike heads and repeated keys of measured attention."""

from __future__ import annotations

import numpy as np
import pytest

from yantra.compute.families import attention_shapes, attention_tables
from yantra.compute.families.attention_shapes import Shape, Variant
from yantra.compute.families.machine import GPUS, Machine, table
from yantra.compute.families.surface import unpacked
from yantra.compute.measured import Measured, Options
from yantra.compute.model import Device, Estimates, kernels


def of_gpu(name: str) -> Device:
    return Device(GPUS[name].peaks["bf16"], GPUS[name].memory_bytes_per_s)


def estimate(gpu: str, framework: str | None = None, **sizes: list[int]) -> Estimates:
    (count,) = {len(column) for column in sizes.values()}
    flops = sizes.pop("flops", [0] * count)
    asked = kernels(flops, [0] * count, "attention", "bf16", "forward", **sizes)
    return Measured(Options(gpu=gpu, framework=framework)).estimate(asked, of_gpu(gpu))


def prefill(gpu: str, windows: list[int], width: int) -> Estimates:
    count = len(windows)
    return estimate(
        gpu, batch=[1] * count, queries=[8192] * count, keys=[8192] * count, heads=[16] * count,
        kv_heads=[8] * count, head_dim=[width] * count, window=windows,
    )  # fmt: skip


@pytest.mark.parametrize("gpu", ["h100_sxm", "b200_sxm"])
@pytest.mark.parametrize("width", [64, 80, 96, 112, 128, 256])
def test_a_wider_window_takes_no_less_time(gpu: str, width: int) -> None:
    made = prefill(gpu, [1024, 2048, 4096, 0], width).middle
    assert (np.diff(made) > 0).all()


def test_a_window_of_1024_over_8192_tokens_visits_a_quarter_of_the_tiles() -> None:
    """64 rows of queries visit 8.4 of 32.5 tiles each in the mean."""
    tiles = attention_shapes.visited(np.array([8192.0]), np.array([8192.0]), np.array([1024.0]))
    assert tiles[0] == pytest.approx((36 + 56 * 9) / 64)
    one, whole = prefill("b200_sxm", [1024, 0], 256).middle
    assert 8.4 / 32.5 < one / whole < 1.6 * 8.4 / 32.5


@pytest.mark.parametrize("ways", [2, 4, 16])
def test_ranks_that_share_a_sequence_evenly_take_its_time_together(ways: int) -> None:
    """Each has an early and a late part of the queries, and all keys."""
    tokens = 65_536
    pairs = tokens * (tokens + 1) // 2
    made = estimate(
        "b200_sxm", batch=[1, 1], queries=[tokens, tokens // ways], keys=[tokens] * 2,
        heads=[64] * 2, kv_heads=[8] * 2, head_dim=[128] * 2,
        flops=[4 * 128 * 64 * pairs, 4 * 128 * 64 * pairs // ways],
    )  # fmt: skip
    whole, share = made.middle
    assert share * ways == pytest.approx(whole, rel=0.1)


def test_a_window_that_holds_all_keys_is_none() -> None:
    ones = np.ones(2)
    shape = Shape(
        ones, 512 * ones, 512 * ones, 8 * ones, ones, 128 * ones, 512 * ones, ones > 0, 128 * ones
    )
    assert attention_shapes.equivalent(shape, decoding=False) == shape


@pytest.mark.parametrize("gpu", ["h100_sxm", "b200_sxm"])
@pytest.mark.parametrize("framework", ["trtllm", "vllm"])
def test_kernels_without_a_window_say_how_long_those_with_one_take(
    gpu: str, framework: str
) -> None:
    arrays = table("prefill", gpu)
    names = [str(name) for name in arrays["variants"]]
    at, base = (names.index(f"bf16|bf16|{window}|{framework}") for window in (128, 0))
    surface = attention_tables.smooth(GPUS[gpu], arrays, base, False)
    keys, tokens, batch = (arrays[name].astype(float) for name in ("keys", "tokens", "batch"))
    whole = np.broadcast_arrays(*attention_tables.table_shape(keys, tokens, batch, 128, False))
    asked = attention_shapes.equivalent(Shape(*(part.reshape(-1) for part in whole)), False)
    machine = Machine(GPUS[gpu], GPUS[gpu].peaks, GPUS[gpu].memory_bytes_per_s, True)
    made = attention_tables.log_us(surface, asked, GPUS[gpu], machine, False)
    wrong = np.abs(unpacked(arrays["us"][at]).reshape(-1) - made)
    assert np.nanmedian(wrong) < 0.2


def test_an_interval_widens_with_the_distance_from_measured_heads() -> None:
    sizes = {"batch": [1] * 2, "queries": [4096] * 2, "keys": [4096] * 2, "heads": [32] * 2}
    made = estimate("h100_sxm", **sizes, kv_heads=[8, 8], head_dim=[128, 400])
    measured, unlike = made.high / made.middle
    assert measured < 1.12 < 1.2 < unlike


def test_tensorrt_llm_reads_keys_once_a_head_where_more_than_32_share_one() -> None:
    """8.8 times was measured."""
    sizes = {"batch": [64] * 2, "queries": [1] * 2, "keys": [4096] * 2, "heads": [32, 64]}
    made = estimate("h100_sxm", "trtllm", **sizes, kv_heads=[1, 1], head_dim=[64, 64]).middle
    assert 5 < made[1] / made[0] < 14


def test_a_variant_is_near_half_an_octave() -> None:
    one = Variant("bf16", "bf16", 128, "vllm")
    assert one.is_near(128) and one.is_near(170)
    assert not one.is_near(1024) and not one.is_near(0)
