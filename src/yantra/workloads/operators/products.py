"""The operations of matrix units that a job needs, and those that its devices do for it.

Both are what utilisations of a run are made of: MFU counts what the forward and backward passes of
the model need (Chowdhery et al., "PaLM", 2022, appendix B), HFU also what is computed again
(Korthikanti et al., "Reducing activation recomputation in large transformer models", MLSys 2023).
Trade-off: a product that several ranks repeat, such as a router of experts under tensor
parallelism, counts for each of them. Pairs of tokens that a causal mask hides do not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from yantra.workloads.operators.operations import Operation


class Products(NamedTuple):
    """Floating-point operations of matrix products, two for each multiply-accumulate."""

    model_flops: int = 0
    hardware_flops: int = 0

    def plus(self, other: Products, times: int = 1) -> Products:
        """Add another so many times."""
        return Products(
            self.model_flops + times * other.model_flops,
            self.hardware_flops + times * other.hardware_flops,
        )


def products_of(operations: Iterable[Operation]) -> Products:
    """Return the sums over operations: of the model those that no pass repeats."""
    model = hardware = 0
    for operation in operations:
        hardware += operation.tensor_flops
        if operation.phase != "recompute":
            model += operation.tensor_flops - operation.repeated_flops
    return Products(model, hardware)
