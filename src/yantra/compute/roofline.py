"""Roofline: arithmetic at the device's peak, or bytes at its bandwidth, whichever takes longer.

A lower bound.

Source: Williams et al., "Roofline: an insightful visual performance model for multicore
architectures", CACM 2009.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.errors import ConfigError
from yantra.base.fields import Quantity, Section, Text
from yantra.base.records import Record
from yantra.compute.model import ComputeModel, Device, Estimates, Kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

RATES = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4")
RATE = Quantity("flops", "FLOP/s", above=0)


class Options(Record):
    """The type of the device's peak, that of products, and the rate of each type."""

    dtype: str | None = None
    products: str | None = None
    fp64: float | None = None
    fp32: float | None = None
    tf32: float | None = None
    bf16: float | None = None
    fp16: float | None = None
    fp8: float | None = None
    int8: float | None = None
    fp4: float | None = None


class Roofline(ComputeModel):
    """The roofline of the device's peak and memory bandwidth."""

    native = "roofline"
    splits_by_rates = True
    options = Section(
        Options,
        {
            "dtype": ("dtype", Text(), "type that the device's peak is of; needs its rate, too"),
            "products": (
                "products",
                Text(),
                "a narrow type for products that a trace has in 16 bits; by default their own",
            ),
        }
        | {name: (name, RATE, f"rate of kernels in {name}") for name in RATES},
    )

    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        """The bound; see the base."""
        import numpy as np

        peak = self._peaks(kernels, device)
        operations = kernels.flops.astype(np.float64)
        moved = kernels.bytes.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.minimum(device.memory_bytes_per_s * (operations / moved), peak)
            both = operations / rate * 1e9
        only_bytes = moved / device.memory_bytes_per_s * 1e9
        only_operations = operations / peak * 1e9
        ns = np.where(moved == 0, only_operations, both)
        return Estimates.exact(np.where(operations == 0, only_bytes, ns))

    def _peaks(self, kernels: Kernels, device: Device) -> NDArray[np.float64] | float:
        given: Options | None = self.given
        if given is None or given == Options():
            return device.peak_flops
        import numpy as np

        from yantra.compute.products import retyped

        kernels = retyped(kernels, given.products)
        shares = np.array(shares_of(given, kernels.dtypes))
        return device.peak_flops * shares[kernels.dtype]


def shares_of(given: Options, dtypes: Sequence[str]) -> list[float]:
    """Raises ConfigError for options without the type of that peak, or its rate."""
    stated = {name: rate for name in RATES if (rate := getattr(given, name)) is not None}
    own = given.dtype
    if own is None:
        raise ConfigError("dtype", "its options need dtype, the type of the device's peak")
    if own not in stated:
        raise ConfigError("dtype", f"its option dtype needs the rate of that type, {own}, too")
    from yantra.compute.products import RATE_TYPES

    usual = stated.get("bf16") or stated.get("fp16") or stated[own]
    of_type = {"": stated[own]} | stated
    of_type |= {name: of_type[rate] for name, rate in RATE_TYPES.items() if rate in of_type}
    return [of_type.get(name, usual) / stated[own] for name in dtypes]


PLUGIN = Roofline
