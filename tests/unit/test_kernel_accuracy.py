"""Kernels that the tables have not seen: errors held out by key stay within their bars."""

from __future__ import annotations

from math import inf

import pytest

from yantra.accuracy.kernels import (
    FAMILIES,
    attention_held_out,
    error_of,
    gemm_held_out,
    pooled,
    transferred,
)
from yantra.compute.families import gemm
from yantra.compute.families.attention_shapes import Variant
from yantra.compute.families.machine import GPUS, NONE, POWERED, Machine


@pytest.mark.parametrize(("name", "large_bar"), [("bf16", 0.05), ("fp8", 0.08)])
def test_products_of_other_sides_are_within_a_few_per_cent(name: str, large_bar: float) -> None:
    gpu = GPUS["h100_sxm"]
    made, measured, large, octaves = gemm_held_out(gpu, name)
    assert error_of("", made, measured, large).mean < large_bar
    whole = error_of("", made, measured, None, gemm.stated_error(gpu, name, octaves))
    assert whole.mean < 0.08
    assert 0.88 < whole.cover < 0.92


@pytest.mark.parametrize(("family", "bar"), [("prefill", 0.08), ("decode", 0.12)])
def test_attention_of_other_heads_is_within_a_tenth(family: str, bar: float) -> None:
    kind = Variant("bf16", "bf16", 0, "")
    made, measured, _ = attention_held_out(GPUS["a100_sxm"], family, kind)
    assert error_of("", made, measured).mean < bar


@pytest.mark.parametrize(
    ("gpu", "name", "source", "bar"),
    [
        ("a100_sxm", "bf16", "h100_sxm", 0.19),
        ("h200_sxm", "bf16", "h100_sxm", 0.08),
        ("gb200", "bf16", "b200_sxm", 0.08),
        ("b200_sxm", "nvfp4", "gb200", 0.08),
    ],
)
def test_other_gpus_say_what_products_take_and_how_sure_that_is(
    gpu: str, name: str, source: str, bar: float
) -> None:
    found = transferred(GPUS[gpu], name)
    assert found.source == source
    error = error_of("", found.made, found.measured, None, found.error)
    assert error.mean < bar
    assert 0.85 < error.cover < 0.99


def test_a_gain_in_peak_is_realised_in_part_within_a_generation_and_at_most_that_in_power() -> None:
    gb200 = GPUS["gb200"]
    peaks = gb200.peaks | {"fp4": 1.5 * gb200.peaks["fp4"]}
    near = Machine(gb200, peaks, gb200.memory_bytes_per_s, False, like="gb200")
    gain = near.rate(gb200, "fp4") / gb200.peaks["fp4"]
    assert 1.1 < gain < 1.25
    assert near.rate(gb200, "bf16") == gb200.peaks["bf16"]
    capped = near._replace(power_w=1.05 * gb200.power_w)
    assert capped.rate(gb200, "fp4") == pytest.approx(1.05 * gb200.peaks["fp4"])
    assert capped.rate(gb200, "bf16") == pytest.approx(1.05**POWERED * gb200.peaks["bf16"])
    assert capped._replace(is_own=True).clock(gb200) == capped._replace(like=NONE).clock(gb200) == 1
    foreign = near._replace(like=NONE)
    assert foreign.rate(gb200, "fp4") == pytest.approx(peaks["fp4"])
    doubled = {name: 2 * peak for name, peak in peaks.items()}
    what_if = near._replace(peaks=doubled, sheet=peaks, stated=(peaks["bf16"], 8e12))
    assert what_if.rate(gb200, "fp4") == pytest.approx(2 * near.rate(gb200, "fp4"))


def test_octaves_to_a_device_grow_with_its_rates_and_with_its_generation() -> None:
    gb200 = GPUS["gb200"]
    own = Machine(gb200, gb200.peaks, gb200.memory_bytes_per_s, True)
    assert own.octaves() == 0
    like = own._replace(is_own=False, like="gb200")
    faster = like._replace(peaks=gb200.peaks | {"fp4": 2 * gb200.peaks["fp4"]})
    assert 0 < like.octaves() == faster.octaves()
    assert faster.octaves("fp4") == pytest.approx(like.octaves("fp4") + 1)
    assert like._replace(like=NONE).octaves() > like.octaves() + 1


def test_what_a_formula_gets_wrong_holds_on_its_own_gpu_and_fades_with_distance() -> None:
    h100, h200, a100 = (GPUS[name] for name in ("h100_sxm", "h200_sxm", "a100_sxm"))
    like = [
        Machine(h100, one.peaks, one.memory_bytes_per_s, False).likeness
        for one in (h100, h200, a100)
    ]
    assert like[0] == 1.0
    assert 0.9 < like[1] < 1.0
    assert like[2] < 0.2
    assert Machine(h100, {"bf16": inf}, inf, True).likeness == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "bar"),
    [
        ("gemm", 0.08),
        ("prefill", 0.08),
        ("decode", 0.12),
        ("moe", 0.15),
        ("memory_bound", 0.15),
        ("transfer", 0.15),
        ("transfer_one_constant", 0.08),
    ],
)
def test_held_out_errors_of_all_tables_do_not_grow(family: str, bar: float) -> None:
    assert pooled(family, list(FAMILIES[family]())).mean < bar
