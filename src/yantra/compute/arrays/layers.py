"""What an array runs: products of matrices, and convolutions as the products they are.

Every window of the padded input is a row ("im2col"), cut off at the edge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

NOTHING = -1
"""The place of a word beyond an edge, which is not read."""


class Gemm(Record):
    """A product of an input of M x K with weights of K x N."""

    m: int
    n: int
    k: int

    @property
    def different_inputs(self) -> int:
        """Words of the input."""
        return self.m * self.k

    def inputs(self) -> Words:
        import numpy as np

        return np.arange(self.m * self.k, dtype=np.int64).reshape(self.m, self.k)

    def weights(self) -> Words:
        import numpy as np

        return np.arange(self.k * self.n, dtype=np.int64).reshape(self.k, self.n)


class Convolution(Record):
    """`filters` filters over a height x width x channels input."""

    height: int
    width: int
    filter_height: int
    filter_width: int
    channels: int
    filters: int
    stride: int = 1
    padding: int = 0

    @property
    def rows_out(self) -> int:
        """Ceil((height - filter height + stride) / stride)."""
        return _steps(self.height + 2 * self.padding, self.filter_height, self.stride)

    @property
    def columns_out(self) -> int:
        """Columns of the output, likewise."""
        return _steps(self.width + 2 * self.padding, self.filter_width, self.stride)

    @property
    def m(self) -> int:
        """Windows: rows of the product's input."""
        return self.rows_out * self.columns_out

    @property
    def n(self) -> int:
        """Filters."""
        return self.filters

    @property
    def k(self) -> int:
        """Words of a window."""
        return self.filter_height * self.filter_width * self.channels

    @property
    def different_inputs(self) -> int:
        down = _covered(self.rows_out, self.height + 2 * self.padding, self.filter_height, self)
        across = _covered(self.columns_out, self.width + 2 * self.padding, self.filter_width, self)
        return down * across * self.channels

    def gemm(self) -> Gemm:
        """The product of the same size."""
        return Gemm(m=self.m, n=self.n, k=self.k)

    def inputs(self) -> Words:
        """The address of each word of each window, M x K; NOTHING beyond the edge."""
        import numpy as np

        height, width = self.height + 2 * self.padding, self.width + 2 * self.padding
        down, across = np.divmod(np.arange(self.m)[:, None], self.columns_out)
        row, rest = np.divmod(np.arange(self.k)[None, :], self.filter_width * self.channels)
        column, channel = np.divmod(rest, self.channels)
        row, column = down * self.stride + row, across * self.stride + column
        address = (row * width + column) * self.channels + channel
        return np.where((row < height) & (column < width), address, NOTHING)

    def weights(self) -> Words:
        return self.gemm().weights()


Layer = Gemm | Convolution


def _covered(steps: int, size: int, window: int, layer: Convolution) -> int:
    last = max(min(window, size - (steps - 1) * layer.stride), 0)
    return (steps - 1) * min(layer.stride, window) + last


def _steps(size: int, window: int, stride: int) -> int:
    return -(-(size - window + stride) // stride)
