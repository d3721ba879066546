"""The matrix operations that a job needs (MFU: Chowdhery et al., PaLM, 2022, appendix B), and those
that its devices do (HFU: Korthikanti et al., MLSys 2023).

Trade-off: a product repeated by several ranks counts for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from yantra.workloads.operators.operations import Operation


class Products(NamedTuple):
    """Operations of matrix products, two per multiply-accumulate."""

    model_flops: int = 0
    hardware_flops: int = 0

    def plus(self, other: Products, times: int = 1) -> Products:
        """Add another `times` over."""
        return Products(
            self.model_flops + times * other.model_flops,
            self.hardware_flops + times * other.hardware_flops,
        )


def products_of(operations: Iterable[Operation]) -> Products:
    model = hardware = 0
    for operation in operations:
        hardware += operation.tensor_flops
        if operation.phase != "recompute":
            model += operation.tensor_flops - operation.repeated_flops
    return Products(model, hardware)
