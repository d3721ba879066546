"""The matrix operations that a job needs, and those that its devices do.

MFU counts what the model's forward and backward passes need (Chowdhery et al., "PaLM", 2022,
appendix B), HFU also recomputation (Korthikanti et al., "Reducing activation recomputation in large
transformer models", MLSys 2023).

Trade-off: a product repeated by several ranks, such as a router under tensor parallelism, counts
for each. Pairs hidden by a causal mask do not count.
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
    """Sums over operations; the model's are those that no pass repeats."""
    model = hardware = 0
    for operation in operations:
        hardware += operation.tensor_flops
        if operation.phase != "recompute":
            model += operation.tensor_flops - operation.repeated_flops
    return Products(model, hardware)
