"""Systolic arrays: products of matrices in folds, as on a TPU; every other kernel by the roofline.

The cycles of a product's folds (`arrays.law`) on the best, or stated, division over arrays.
Trade-off: one clock, no bank conflicts; badly fitting shapes show. Sources: Samajdar et al., ISPASS
2020 (SCALE-Sim); Jouppi et al., "In-datacenter performance analysis of a tensor processing unit",
ISCA 2017 (weights loaded while others compute); Raj et al., "SCALE-Sim v3", arXiv 2504.15377
(division over arrays).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from yantra.base.divisors import divisors
from yantra.base.errors import ConfigError
from yantra.base.fields import Choice, Quantity, Section, Whole
from yantra.base.records import Record
from yantra.compute.arrays.law import Array, Dataflow, WeightLoad, cycles, mapped, up
from yantra.compute.model import ComputeModel, Device, Estimates, Kernels
from yantra.compute.products import Products, is_product, products_of
from yantra.compute.roofline import Roofline

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Reals = NDArray[np.float64]

Partition = Literal["auto", "input", "weight", "output"]

_ACCUMULATOR_BYTES = 4  # partial sums are fp32 or int32 (Jouppi et al. 2017, section 2)


class Arrays(Record):
    """ """

    rows: int = 128
    columns: int = 128
    arrays: int = 1
    dataflow: Dataflow = "ws"
    weight_load: WeightLoad | None = None
    partition: Partition = "auto"
    clock_hz: float | None = None
    scratchpad_bytes: int | None = None


class _Options(Section):
    def read(self, tree: Any, where: str, folder: str) -> Any:
        record = super().read(tree, where, folder)
        self.check(record, where)
        return record

    def check(self, value: Any, where: str) -> None:
        super().check(value, where)
        if value.dataflow == "os" and value.weight_load is not None:
            problem = "only with dataflow ws or is; outputs that stay are not loaded"
            raise ConfigError(f"{where}.weight_load", problem)


class Systolic(ComputeModel):
    """Products in folds over systolic arrays; the rest by the roofline."""

    options = _Options(
        Arrays,
        {
            "rows": ("rows", Whole(1, 65536), "of an array, in processing elements"),
            "columns": ("columns", Whole(1, 65536), "of an array"),
            "arrays": ("arrays", Whole(1, 4096), "arrays of a device, which share each product"),
            "dataflow": ("dataflow", Choice(Dataflow), "what stays: outputs, weights, inputs"),
            "weight_load": (
                "weight_load",
                Choice(WeightLoad),
                "when what stays is loaded: while others compute (hidden), or before; by default "
                "hidden; not with os",
            ),
            "partition": (
                "partition",
                Choice(Partition),
                "how arrays share a product: rows of the input, columns of the weights, both, or "
                "what is fastest, with the products of a batch",
            ),
            "clock": (
                "clock_hz",
                Quantity("frequency", "Hz", above=0),
                "of the arrays; if left out, that at which they reach the device's peak",
            ),
            "scratchpad": (
                "scratchpad_bytes",
                Quantity("size", "B", whole=True, at_least=1),
                "of all arrays, for each of inputs, weights and outputs; what half of it cannot "
                "hold is moved again; if left out, the bytes of the trace are moved once",
            ),
        },
    )

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        given: Arrays = self.given
        self._array = Array(given.rows, given.columns, given.dataflow)
        self._load: WeightLoad = given.weight_load or "hidden"

    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        """Folds beside traffic for products, the roofline for others."""
        import numpy as np

        least = Roofline().estimate(kernels, device).middle
        product = is_product(kernels)
        if not product.any():
            return Estimates.exact(least)
        rows = kernels.take(product)
        of = products_of(rows)
        arithmetic = self._cycles(of) / self._clock(device) * 1e9
        word = rows.bytes / of.words
        traffic = self._bytes(rows, of, word) / device.memory_bytes_per_s * 1e9
        first = self._first(of) * word / device.memory_bytes_per_s * 1e9
        low, middle, high = least.copy(), least.copy(), least.copy()
        low[product] = np.maximum(least[product], np.maximum(arithmetic, traffic))
        middle[product] = np.maximum(least[product], np.maximum(arithmetic, traffic) + first)
        high[product] = np.maximum(least[product], arithmetic + traffic + first)
        return Estimates(low, middle, high)

    def _clock(self, device: Device) -> float:
        if self.given.clock_hz is not None and device.peak_flops != float("inf"):
            return float(self.given.clock_hz)
        elements: int = self.given.rows * self.given.columns * self.given.arrays
        return device.peak_flops / (2.0 * elements)

    def _cycles(self, of: Products) -> Reals:
        import numpy as np

        best = None
        for over_batch, over_m, over_n in _divisions(self.given.arrays, self.given.partition):
            share = _ceil(of.m, over_m), _ceil(of.n, over_n), of.k
            times = _ceil(of.batch, over_batch)
            taken = cycles(*share, self._array, self._load, times)
            best = taken if best is None else np.minimum(best, taken)
        assert best is not None
        result: Reals = best
        return result

    def _first(self, of: Products) -> Reals:
        import numpy as np

        on = mapped(of.m, of.n, of.k, self._array.dataflow)
        down = np.minimum(on.rows, self._array.rows)
        across = np.minimum(on.columns, self._array.columns)
        begin = down + across if self._array.dataflow == "os" else down * across
        most: Reals = np.minimum(begin * self.given.arrays, of.words)
        return most

    def _bytes(self, rows: Kernels, of: Products, word: Reals) -> Reals:
        import numpy as np

        bytes = rows.bytes.astype(np.float64)
        if self.given.scratchpad_bytes is None:
            return bytes
        m, n, k, batch = of
        half = self.given.scratchpad_bytes / 2
        again = _again(m, n, k, self._array, half / np.maximum(word, 1e-9))
        sums = _sums_again(m, n, k, self._array, half) * _ACCUMULATOR_BYTES
        moved: Reals = bytes + batch * (again * word + sums)
        return moved


def _again(m: Any, n: Any, k: Any, array: Array, words: Reals) -> Any:
    """The words of operands that are read more than once, per product."""
    import numpy as np

    on = mapped(m, n, k, array.dataflow)
    down, across = up(on.rows, array.rows), up(on.columns, array.columns)
    streams = k * n if array.dataflow == "is" else m * k
    more = np.where(streams > words, (across - 1) * streams, 0.0)
    if array.dataflow == "os":
        more = more + np.where(k * array.columns > words, (down - 1) * k * n, 0.0)
    return more


def _sums_again(m: Any, n: Any, k: Any, array: Array, half_bytes: float) -> Any:
    import numpy as np

    if array.dataflow == "os":
        return m * 0.0
    on = mapped(m, n, k, array.dataflow)
    held = on.streamed * np.minimum(on.columns, array.columns) * _ACCUMULATOR_BYTES
    return np.where(held > half_bytes, 2.0 * (up(k, array.rows) - 1) * m * n, 0.0)


def _divisions(arrays: int, partition: Partition) -> Iterator[tuple[int, int, int]]:
    if partition == "input":
        yield 1, arrays, 1
    elif partition == "weight":
        yield 1, 1, arrays
    else:
        for over_batch in divisors(arrays) if partition == "auto" else (1,):
            for over_m in divisors(arrays // over_batch):
                yield over_batch, over_m, arrays // over_batch // over_m


def _ceil(sizes: Reals, parts: int) -> Any:
    import numpy as np

    return sizes if parts == 1 else np.ceil(sizes / parts)


PLUGIN = Systolic
