"""What a family of kernels is: durations for kernels of some operator classes, from tables."""

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

    `subject` names the tables in a summary.
    """

    op_classes: ClassVar[tuple[str, ...]] = ()
    subject: ClassVar[str] = ""

    @abstractmethod
    def estimate(self, kernels: Kernels, machine: Machine) -> Estimates:
        """Nanoseconds for each row, low, middle and high (90 %)."""

    def beyond(self, kernels: Kernels, machine: Machine) -> Reals:
        """Octaves of each kernel's sizes outside the measured ones, which widen its interval."""
        import numpy as np

        return np.zeros(len(kernels))

    def octaves(self, kernels: Kernels, machine: Machine) -> Reals:
        """Octaves from each kernel to the nearest measured one, of sizes and of the device."""
        return self.beyond(kernels, machine) + machine.octaves()

    def has_tables(self, machine: Machine) -> bool:
        """Whether measurements are of the machine's own GPU."""
        return machine.is_own


def within(middle_us: Reals, error: Reals | float) -> Estimates:
    """Estimates in ns of a middle in us and its relative 90 % error."""
    middle = middle_us * 1e3
    factor = 1 + error
    return Estimates(middle / factor, middle, middle * factor)
