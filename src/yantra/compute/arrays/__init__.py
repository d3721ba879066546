"""Systolic arrays: the law of their cycles, what they read, and when memory makes them wait.

`law` is closed form and takes columns; `layers` are the products and convolutions they run;
`report` follows one layer word by word as SCALE-Sim does, to compare with it. Nothing here knows of
devices or scenarios; the compute model `systolic` puts arrays into a device.
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
