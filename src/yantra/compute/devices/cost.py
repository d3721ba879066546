"""What a die costs: dies per wafer, yield, and the memory beside it.

Sources: dies per wafer and yield as in Hennessy and Patterson, "Computer Architecture" (6th ed.),
section 1.6 (Stapper's negative binomial); memory prices of October 2023 as in LLMCompass's cost
model.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Final, NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.compute.devices.types import Device

_USD_PER_GB: Final = {"hbm2e": 7.0, "ddr5": 2.4}
_MM2_PER_CM2: Final = 100.0


class Cost(NamedTuple):
    """Dies of a wafer, their yield, US dollars; None without a wafer's price."""

    dies_per_wafer: float
    yield_part: float
    die_usd: float | None
    memory_usd: float


def dies_per_wafer(die_mm2: float, wafer_mm: float) -> float:
    """pi (d/2)^2 / A - pi d / sqrt(2 A): what fits, less what the edge cuts off."""
    return pi * (wafer_mm / 2) ** 2 / die_mm2 - pi * wafer_mm / sqrt(2 * die_mm2)


def yield_of(die_mm2: float, defects_per_cm2: float, clustering: float) -> float:
    """(1 + A D0 / alpha)^-alpha, the part of the dies without a defect."""
    defects = die_mm2 / _MM2_PER_CM2 * defects_per_cm2
    return float((1 + defects / clustering) ** -clustering)


def cost_of(device: Device, die_mm2: float) -> Cost:
    """The cost of a die of this area. Raises UnsupportedError if none fits on a wafer."""
    process = device.process
    dies = dies_per_wafer(die_mm2, process.wafer_mm)
    if dies < 1:
        raise UnsupportedError(
            f"{device.name}: a die of {die_mm2:.0f} mm2 does not fit on a wafer of "
            f"{process.wafer_mm:g} mm; describe a smaller one"
        )
    good = yield_of(die_mm2, process.defects_per_cm2, process.clustering)
    price = None if process.wafer_usd is None else process.wafer_usd / (dies * good)
    return Cost(dies, good, price, device.memory.size_bytes / 1e9 * _USD_PER_GB[device.memory.kind])
