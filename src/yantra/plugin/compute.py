"""A compute model: how long kernels take on a device."""

from __future__ import annotations

from yantra.compute.model import ComputeModel, Device, Estimates, Kernels
from yantra.compute.roofline import Roofline

__all__ = [
    "ComputeModel",
    "Device",
    "Estimates",
    "Kernels",
    "Roofline",
]
