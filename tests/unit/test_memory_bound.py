"""Kernels that memory bounds: lengths of rows, and how sure they are."""

from __future__ import annotations

import numpy as np
import pytest

from yantra.compute.families import memory_bound
from yantra.compute.families.machine import GPUS, table
from yantra.compute.measured import Measured, Options
from yantra.compute.model import Device, Estimates, kernels

TABLES = [name for name in GPUS if table("memory_bound", name)]


def estimate(device: Device, kind: str, dtype: str, alone: bool = True) -> Estimates:
    """8,192 rows of 2,048 numbers, read and written."""
    size = 2 * 8192 * 2048 * memory_bound.WIDTHS.get(dtype, 2)
    one = kernels([0], [size], kind, dtype, "forward", m=[8192])
    return Measured(Options(alone=alone)).estimate(one, device)


@pytest.mark.parametrize("gpu", TABLES)
@pytest.mark.parametrize("kind", ["ln", "softmax"])
def test_lengths_of_rows_halve_the_error_of_norms_and_softmax(gpu: str, kind: str) -> None:
    rows, columns, moved, us = memory_bound.measured(gpu, kind)
    one = memory_bound.line(gpu, kind)
    with_length, without = (
        np.abs(memory_bound.kernel_us(one, rows, known, moved, 1.0) / us - 1).mean()
        for known in (columns, np.zeros(len(us)))
    )
    assert with_length < 0.08
    assert with_length < without


def test_an_interval_is_as_wide_as_measurements_scatter() -> None:
    """On an L4, which has no table."""
    widths = [
        made.high[0] / made.middle[0] - 1
        for made in (
            estimate(Device(121e12, 300e9), "elementwise", "fp32"),
            estimate(Device(121e12, 300e9), "elementwise", "bf16"),
            estimate(Device(121e12, 300e9), "softmax", "fp32"),
        )
    ]
    assert widths == pytest.approx([0.26, 0.36, 0.6])
    assert memory_bound.source_of(GPUS["a100_sxm"], 300e9) is GPUS["t4"]
