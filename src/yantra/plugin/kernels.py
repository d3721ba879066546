"""A family of measured kernels: how long those of one class take."""

from __future__ import annotations

from yantra.compute.families.family import Family, within
from yantra.compute.families.machine import Gpu, Machine, table
from yantra.compute.model import Estimates, Kernels

__all__ = [
    "Estimates",
    "Family",
    "Gpu",
    "Kernels",
    "Machine",
    "table",
    "within",
]
