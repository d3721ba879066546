"""Bytes and times of weights that are stored in blocks with scales."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.compile import compile
from yantra.run.simulate import run
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.scenario.named import parts_at
from yantra.workloads.models.catalogue import find
from yantra.workloads.operators.graph.formats import FORMATS, WIDTHS, stored_bytes
from yantra.workloads.serving import InferencePlan, infer

ENDS = 2 * 128256 * 8192
"""Embedding and head of Llama 3 70B."""


@given(st.integers(1, 10**9))
def test_int4_takes_half_a_byte_and_a_scale_and_a_zero_for_each_128(blocks: int) -> None:
    n = 128 * blocks
    assert stored_bytes(n, "int4", packs=True) == n // 2 + blocks * 5 // 2 + blocks % 2
    assert stored_bytes(n, "int4", packs=False) == 2 * n


@given(st.integers(1, 10**7))
def test_fp8_in_blocks_takes_a_byte_and_a_scale_for_each_block(blocks: int) -> None:
    n = 128 * 128 * blocks
    assert stored_bytes(n, "fp8_block", packs=True) == n + 4 * blocks


@pytest.mark.parametrize("kind", [*WIDTHS, *FORMATS])
@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_more_weights_never_take_fewer_bytes(kind: str, one: int, more: int) -> None:
    for packs in (True, False):
        small, large = (stored_bytes(n, kind, packs=packs) for n in (one, one + more))
        assert small <= large <= small + stored_bytes(more, kind, packs=packs)


def test_llama_70b_is_as_large_as_its_awq_checkpoint() -> None:
    plan = InferencePlan(weight_dtype="int4")
    made = infer(find("llama3-70b"), plan, phase="decode", batch=1, context=1)
    model = 70_553_706_496
    norms = 161 * 8192
    packed = model - ENDS - norms
    expected = packed // 2 + packed // 128 * 5 // 2 + 2 * (ENDS + norms)
    assert made.memory["stage0"]["weights"] == pytest.approx(expected, abs=1000)
    assert expected == pytest.approx(39.8e9, rel=2e-3)  # the files of public AWQ checkpoints


def decoded(speeds: str, **fields: str) -> float:
    plan = InferencePlan(tp=4, **fields)
    made = infer(find("llama3-70b"), plan, phase="decode", batch=8, context=2048)
    parts = parts_at("hgx-h100", 4, speeds=speeds)
    return run(compile(Scenario(workload=Templates(workload=made), **parts))).makespan_ns


@pytest.mark.parametrize("speeds", ["achievable", "measured"])
def test_fewer_bits_are_read_faster(speeds: str) -> None:
    times = [decoded(speeds, weight_dtype=kind) for kind in ("bf16", "fp8", "int4", "fp4")]
    assert times == sorted(times, reverse=True) and times[0] > 1.9 * times[2]
    assert decoded(speeds, weight_dtype="fp8_block") == pytest.approx(times[1], rel=0.02)


def test_products_in_fp8_blocks_run_at_the_rate_of_fp8() -> None:
    plan = InferencePlan(tp=4, dtype="fp8_block")
    assert (plan.weight_dtype, plan.kv_cache_dtype) == ("fp8_block", "bf16")
    made = infer(find("llama3-70b"), plan, phase="prefill", batch=8, prompt=2048)
    other = infer(
        find("llama3-70b"), plan.replace(dtype="fp8"), phase="prefill", batch=8, prompt=2048
    )
    times = []
    for workload in (made, other):
        parts = cluster_parts("hgx-h100", 4, stack="roofline")
        result = run(compile(Scenario(workload=Templates(workload=workload), **parts)))
        assert result.figures.peak_dtype == "fp8"
        times.append(result.makespan_ns)
    assert times[0] == pytest.approx(times[1], rel=1e-3)


def test_names_of_engines_mean_int4() -> None:
    for name in ("awq", "gptq", "awq_marlin", "gptq_marlin"):
        assert InferencePlan.of({"quantization": name}).weight_dtype == "int4"
    with pytest.raises(ConfigError, match="weight_dtype"):
        InferencePlan(weight_dtype="int3")


def test_stages_of_inference_have_the_layers_that_they_are_given() -> None:
    def weights(split: tuple[int, ...] | None) -> list[int]:
        plan = InferencePlan(pp=2, stage_layers=split)
        made = infer(find("llama3-8b"), plan, phase="decode", batch=2, context=16)
        return [made.memory[f"stage{at}"]["weights"] for at in range(2)]

    even = weights(None)
    assert weights((16, 16)) == even
    layer = 2 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096)
    assert weights((12, 20)) == [even[0] - 4 * layer, even[1] + 4 * layer]
    for split in ((16, 15), (32,), (0, 32)):
        with pytest.raises(ConfigError, match="stage_layers"):
            weights(split)
