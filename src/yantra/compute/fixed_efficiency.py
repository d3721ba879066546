"""Fixed efficiency: a roofline whose peak and bandwidth are reached to a stated fraction.

Source: Isaev et al., "Calculon: a methodology and tool for high-level co-design of systems and
large language models", SC 2023, without its steps by size.
"""

from __future__ import annotations

from yantra.base.fields import Number, Section
from yantra.base.records import Record
from yantra.compute.model import ComputeModel, Device, Estimates, Kernels


class Fractions(Record):
    """None is `default`, for every class without its own."""

    gemm: float | None = None
    attention: float | None = None
    conv: float | None = None
    scan: float | None = None
    default: float = 0.6
    memory: float = 0.8


_FRACTION = Number(above=0.0, at_most=1.0)


class FixedEfficiency(ComputeModel):
    options = Section(
        Fractions,
        {
            "gemm": ("gemm", _FRACTION, "share of the peak for products of matrices"),
            "attention": ("attention", _FRACTION, "share of the peak for fused attention"),
            "conv": ("conv", _FRACTION, "share of the peak for convolutions"),
            "scan": ("scan", _FRACTION, "share of the peak for scans of state-space models"),
            "default": ("default", _FRACTION, "share of the peak for every other class"),
            "memory": ("memory", _FRACTION, "share of the memory's bandwidth for all classes"),
        },
    )

    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        """The longer of arithmetic and traffic; see the base."""
        import numpy as np

        fractions = np.array([self._of(name) for name in kernels.op_classes])
        arithmetic = kernels.flops / (device.peak_flops * fractions)[kernels.op_class]
        traffic = kernels.bytes / (device.memory_bytes_per_s * self.given.memory)
        return Estimates.exact(np.maximum(arithmetic, traffic) * 1e9)

    def _of(self, op_class: str) -> float:
        given: Fractions = self.given
        fraction: float | None = getattr(given, op_class) if op_class in _CLASSES else None
        return given.default if fraction is None else fraction


_CLASSES = frozenset(Fractions.field_names) - {"default", "memory"}
PLUGIN = FixedEfficiency
