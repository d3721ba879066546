"""Kernels that memory bounds, by kind: launch, rows and bytes.

    time = launch + bytes / (bandwidth x share)

Shares are of the slope of time over bytes, so that the launch is apart. Fitted to fp32 kernels of
an A100 (NeuSight) by least absolute relative error; other GPUs have the shares, as no table of
theirs is public, at their own bandwidth. Also for classes that no family claims: where arithmetic
at half of the vector peak takes longer, that.

Source: sitar-lab/NeuSight (see NOTICE).
"""

from __future__ import annotations

import numpy as np

from yantra.compute.families.family import Family, within
from yantra.compute.families.machine import SCALED, Machine
from yantra.compute.model import Estimates, Kernels

SHARES = {
    "norm": 0.62, "softmax": 0.62, "optimizer": 0.7, "loss": 0.62, "reduction": 0.82,
}  # fmt: skip
OTHERS = 0.82
LAUNCH_US = 4.0
_ERROR = 0.25
_VECTOR_SHARE = 0.5


class MemoryBound(Family):
    """Elementwise kernels, norms, softmax, lookups, permutations, optimizers and copies."""

    op_classes = tuple(SHARES)
    subject = "memory-bound"

    def estimate(self, kernels: Kernels, machine: Machine) -> Estimates:
        """Return the formula; see the base."""
        shares = np.array([SHARES.get(name, OTHERS) for name in kernels.op_classes])
        rate = machine.memory_bytes_per_s * shares[kernels.op_class]
        traffic = kernels.bytes / rate
        vector = machine.peaks.get("fp32", machine.peak("bf16") / 16) * _VECTOR_SHARE
        middle = LAUNCH_US + 1e6 * np.maximum(traffic, kernels.flops / vector)
        error = _ERROR + (0 if machine.is_own else SCALED)
        return within(middle, np.full(len(kernels), error))


PLUGIN = MemoryBound
