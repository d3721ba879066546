"""Systolic arrays: `law` has their cycles in closed form, `layers` the products and
convolutions.
"""

from __future__ import annotations

from yantra.compute.arrays.law import Array, cycles, folds, mapped, mapping_efficiency, utilisation
from yantra.compute.arrays.layers import Convolution, Gemm

__all__ = [
    "Array",
    "Convolution",
    "Gemm",
    "cycles",
    "folds",
    "mapped",
    "mapping_efficiency",
    "utilisation",
]
