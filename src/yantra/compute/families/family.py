"""What a family of kernels is: durations for kernels of some operator classes, from tables.

Trade-off: a family sees kernels of its own classes alone, as columns; what several share (launch,
scaling to another device, intervals) is in `machine.py`, `surface.py` and here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from yantra.compute.families.machine import Machine
from yantra.compute.model import Estimates, Kernels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Reals = NDArray[np.float64]


class Family(ABC):
    """Durations of the kernels of `op_classes` on a machine.

    `subject` is what a summary calls the tables.
    """

    op_classes: ClassVar[tuple[str, ...]] = ()
    subject: ClassVar[str] = ""

    @abstractmethod
    def estimate(self, kernels: Kernels, machine: Machine) -> Estimates:
        """Return nanoseconds for each row, low, middle and high (90 %)."""

    def beyond(self, kernels: Kernels, machine: Machine) -> Reals:
        """Return how many octaves each kernel's sizes are outside of what was measured; 0 within.

        Estimates there are extrapolated, so their interval must be wider.
        """
        import numpy as np

        return np.zeros(len(kernels))

    def has_tables(self, machine: Machine) -> bool:
        """Return whether the estimates rest on measurements of the machine's own GPU."""
        return machine.is_own


def within(middle_us: Reals, error: Reals | float) -> Estimates:
    """Return estimates in ns of a middle in us, and of the relative error that 90 % stay within.

    The interval is symmetric in the logarithm: from middle / (1 + error) to middle x (1 + error).
    """
    middle = middle_us * 1e3
    factor = 1 + error
    return Estimates(middle / factor, middle, middle * factor)
