"""Attention with the kernels of older libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.compute.families.attention_libraries import LIBRARIES, longer
from yantra.compute.families.machine import GPUS
from yantra.compute.measured import Measured, Options
from yantra.compute.model import Device, Estimates, kernels
from yantra.fabric import stacks

ALL_PAIRS = 4 * 2 * 16 * 128 * 8192**2
"""FLOPs of 2 sequences of 8,192 tokens, 16 heads of 128, without a mask."""


def estimate(gpu: str, library: str | None, phase: str = "forward", width: int = 128) -> Estimates:
    one = kernels(
        [ALL_PAIRS * (1 if phase == "forward" else 3)], [0], "attention", "bf16", phase,
        batch=[2], queries=[8192], keys=[8192], heads=[16], kv_heads=[16], head_dim=[width],
    )  # fmt: skip
    device = Device(GPUS[gpu].peaks["bf16"], GPUS[gpu].memory_bytes_per_s)
    return Measured(Options(gpu=gpu, attention=library)).estimate(one, device)


@pytest.mark.parametrize(("gpu", "tflops"), [("h100_sxm", 327.9), ("h200_sxm", 329.3)])
def test_flash_attention_2_reaches_what_azure_measured(gpu: str, tflops: float) -> None:
    """Azure's benchmarks of ND H100 v5 and H200 v5: batch 2, 8,192 tokens, heads of 128."""
    (ns,) = estimate(gpu, "flash-2").middle
    assert ALL_PAIRS / ns / 1e3 == pytest.approx(tflops, rel=0.12)


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_library_is_faster_than_that_of_the_tables(library: str) -> None:
    for phase in ("forward", "dgrad"):
        made, tables = (estimate("h100_sxm", one, phase) for one in (library, None))
        assert made.middle[0] >= tables.middle[0]
        assert made.high[0] / made.middle[0] >= tables.high[0] / tables.middle[0]


def test_a_library_that_does_not_run_on_a_gpu_is_refused() -> None:
    with pytest.raises(ConfigError, match="flash-3 runs on Hopper, not on Ampere; flash-2 does"):
        estimate("a100_sxm", "flash-3")
    with pytest.raises(ConfigError, match="did you mean 'flash-2'"):
        estimate("a100_sxm", "flash2")


def test_widths_between_those_that_kernels_are_built_for_are_filled_up() -> None:
    narrow, filled = (estimate("h100_sxm", None, width=width).middle[0] for width in (112, 128))
    assert narrow == pytest.approx(filled, rel=0.01)


def test_a_stack_that_names_a_library_has_it_in_place_of_the_kernels_of_its_year(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("title: mine\nbased_on: fsdp-eager-2023\nattention_library: flash-2\n")
    mine, base = stacks.load(str(path)), stacks.load("fsdp-eager-2023")
    older = base.terms("hgx-h100")[1].older_attention.value
    theirs = base.scenario_part("hgx-h100")["attention"]
    assert mine.scenario_part("hgx-h100")["attention"] == pytest.approx(theirs / older)
    assert mine.attention_library == "flash-2" and longer("flash-2", "h100_sxm").forward == 1.9
    path.write_text("title: mine\nattention_library: flash2\n")
    with pytest.raises(ConfigError, match="attention_library: expected one of flash-1"):
        stacks.load(str(path))
