"""Efficiency by size: a roofline of which larger kernels reach more, in steps.

Steps by operations are fractions of the peak, by bytes of the bandwidth; below the first step, the
first. Arithmetic and traffic overlap or, with `together: false`, add.

Source: Isaev et al., "Calculon: a methodology and tool for high-level co-design of systems and
large language models", SC 2023, section 3 (processing modes, efficiency tables).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.errors import ConfigError
from yantra.base.fields import Flag, Number, Numbered, Section
from yantra.base.records import Record
from yantra.compute.model import ComputeModel, Device, Estimates, Kernels

if TYPE_CHECKING:
    from yantra.compute.model import Reals, Wholes

Steps = tuple[tuple[int, float], ...]
"""From a size on, a fraction; ascending."""
_PRODUCTS = ("gemm", "attention", "grouped_gemm", "conv")
_ALL: Steps = ((0, 1.0),)


class Curves(Record):
    """Fractions by size: of the peak for products and others, and of the bandwidth."""

    products: Steps = _ALL
    others: Steps = _ALL
    memory: Steps = _ALL
    together: bool = True


_STEPS = Numbered(Number(above=0.0, at_most=1.0))


class EfficiencyBySize(ComputeModel):
    options = Section(
        Curves,
        {
            "products": ("products", _STEPS, "fraction of the peak from so many operations on"),
            "others": ("others", _STEPS, "the same for kernels other than products of matrices"),
            "memory": ("memory", _STEPS, "fraction of the memory's bandwidth from so many bytes"),
            "together": ("together", Flag(), "arithmetic and traffic overlap; else they add up"),
        },
    )

    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        """The longer of arithmetic and traffic, or their sum; see the base."""
        import numpy as np

        given: Curves = self.given
        for name in ("products", "others", "memory"):
            if not getattr(given, name):
                raise ConfigError(name, "expected at least one size with its fraction")
        names = np.array([name in _PRODUCTS for name in kernels.op_classes])
        is_product = names[kernels.op_class] | (kernels.k > 0)
        flops, moved = kernels.flops, kernels.bytes
        reached = np.where(is_product, _at(given.products, flops), _at(given.others, flops))
        arithmetic = flops / (device.peak_flops * reached)
        traffic = moved / (device.memory_bytes_per_s * _at(given.memory, moved))
        both = np.maximum(arithmetic, traffic) if given.together else arithmetic + traffic
        return Estimates.exact(both * 1e9)


def _at(steps: Steps, sizes: Wholes) -> Reals:
    import numpy as np

    least, fractions = zip(*steps, strict=True)
    place = np.searchsorted(np.array(least), sizes, side="right") - 1
    reached: Reals = np.array(fractions)[np.maximum(place, 0)]
    return reached


PLUGIN = EfficiencyBySize
