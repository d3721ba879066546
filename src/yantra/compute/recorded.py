"""Recorded: a kernel takes as long as the trace says.

What was measured is right for the machine it was measured on, and for no other. The core reads it
off the trace itself.
"""

from __future__ import annotations

from yantra.compute.model import ComputeModel, Device, Estimates, Kernels


class Recorded(ComputeModel):
    """The durations of the trace."""

    native = "recorded"
    needs = ()
    may_beat_the_roofline = True

    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        """Return what was recorded; see the base."""
        import numpy as np

        return Estimates.exact(kernels.recorded_ns.astype(np.float64))


PLUGIN = Recorded
