"""Recorded: a kernel takes as long as the trace says.

Right for the measured machine, and no other.
"""

from __future__ import annotations

from yantra.compute.model import ComputeModel, Device, Estimates, Kernels


class Recorded(ComputeModel):
    """The durations of the trace."""

    native = "recorded"
    needs = ()
    may_beat_the_roofline = True
    from_recorded = True

    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        """What was recorded; see the base."""
        import numpy as np

        return Estimates.exact(kernels.recorded_ns.astype(np.float64))


PLUGIN = Recorded
