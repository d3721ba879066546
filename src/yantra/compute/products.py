"""Products of matrices among kernels: how many there are of what size, one by one.

Trade-off: experts get equal shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.compute.model import Kernels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Reals = NDArray[np.float64]

_WORD_BYTES = 2  # only to distinguish the two kinds of grouped products
_FEWER = 1.5  # operations of a batch over a group's, which are half or less


class Products(NamedTuple):
    m: Reals
    n: Reals
    k: Reals
    batch: Reals

    @property
    def words(self) -> Any:
        """Words of all operands and results, once each."""
        return self.batch * (self.m * self.k + self.k * self.n + self.m * self.n)


NARROW = ("fp8", "fp8_block", "int8", "fp4", "nvfp4", "int4")
"""Types of fewer than 16 bits, which only products have."""

RATE_TYPES = {"fp8_block": "fp8", "nvfp4": "fp4"}
"""Types with scales for blocks -> the type at whose rate their products run."""

_PRODUCTS = ("gemm", "grouped_gemm")


def retyped(kernels: Kernels, wanted: str | None) -> Kernels:
    """In 8 bits or less those that it has in 16, unless it chose a type for some itself; in 16 bits
    and more those in fewer, or in the other of bf16 and fp16.
    """
    if wanted is None:
        return kernels
    import numpy as np

    are_products = np.array([name in _PRODUCTS for name in kernels.op_classes])[kernels.op_class]
    narrow = np.array([name in NARROW for name in kernels.dtypes])[kernels.dtype]
    other = np.array([{name, wanted} == {"bf16", "fp16"} for name in kernels.dtypes])
    if wanted in NARROW:
        in_16_bits = np.array([name in ("", "bf16", "fp16") for name in kernels.dtypes])
        chosen = are_products & in_16_bits[kernels.dtype]
        if not np.array_equal(chosen, are_products):
            return kernels
    else:
        chosen = narrow | other[kernels.dtype]
    if not chosen.any():
        return kernels
    code = np.uint32(len(kernels.dtypes))
    return kernels.replace(
        dtype=np.where(chosen, code, kernels.dtype), dtypes=(*kernels.dtypes, wanted)
    )


def is_product(kernels: Kernels) -> Any:
    """Whether each kernel is a product with its sizes."""
    return (kernels.m > 0) & (kernels.n > 0) & (kernels.k > 0)


def products_of(rows: Kernels) -> Products:
    import numpy as np

    m, n, k, given = (part.astype(np.float64) for part in (rows.m, rows.n, rows.k, rows.batch))
    batch = np.maximum(given, 1.0)
    grouped = (batch > 1) & (rows.flops * _FEWER < 2 * batch * m * n * k) & (rows.flops > 0)
    if not grouped.any():
        return Products(m, n, k, batch)
    by_rows = m * k + batch * k * n + m * n
    by_sums = m * k + k * n + batch * m * n
    words = np.maximum(rows.bytes / _WORD_BYTES, 1.0)
    closer = np.abs(np.log(by_rows / words)) <= np.abs(np.log(by_sums / words))
    m = np.where(grouped & closer, np.ceil(m / batch), m)
    k = np.where(grouped & ~closer, np.ceil(k / batch), k)
    return Products(m, n, k, batch)
