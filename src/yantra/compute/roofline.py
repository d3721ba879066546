"""Roofline: arithmetic at the device's peak, or bytes at its bandwidth, whichever takes longer.

A lower bound: no kernel of these operations and bytes is faster. The core computes it itself, node
by node; operations here are in the core's order (native/workload/lower_compute.cpp), so that both
round alike. The quirks of ASTRA-sim's roofline are the core's alone.
Source: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for
multicore architectures", CACM 2009.
"""

from __future__ import annotations

from yantra.compute.model import ComputeModel, Device, Estimates, Kernels


class Roofline(ComputeModel):
    """The roofline of the device's peak and memory bandwidth."""

    native = "roofline"

    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        """Return the bound; see the base."""
        import numpy as np

        operations = kernels.flops.astype(np.float64)
        moved = kernels.bytes.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.minimum(device.memory_bytes_per_s * (operations / moved), device.peak_flops)
            both = operations / rate * 1e9
        only_bytes = moved / device.memory_bytes_per_s * 1e9
        only_operations = operations / device.peak_flops * 1e9
        ns = np.where(moved == 0, only_operations, both)
        return Estimates.exact(np.where(operations == 0, only_bytes, ns))


PLUGIN = Roofline
