"""How long kernels take on a described device: tiles over cores in waves, each level overlapped.

A tile's next piece loads during the last, so it takes the longer of its cycles (law of the arrays)
and bytes from the global buffer, or memory for what that cannot hold. Trade-off: few tiles, no
conflicts. Sources: Zhang et al., LLMCompass, ISCA 2024, section III-B; NVIDIA, "Matrix
multiplication background user's guide" (tile and wave quantisation).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.compute.arrays.law import Array, cycles, up
from yantra.compute.devices.types import Device
from yantra.compute.model import Kernels
from yantra.compute.products import Products, is_product, products_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Reals = NDArray[np.float64]

_MATRIX_CLASSES = frozenset({"gemm", "attention", "conv", "scan"})
_BLOCK = 8192  # rows at a time, to stay in the caches
_ACCUMULATOR_BYTES = 4
_WORD_BYTES = 2  # that tiles are chosen for
_LONGEST_PIECE = 512
_WIDEST_RATIO = 2


class Tile(NamedTuple):
    m: int
    n: int
    k: int


def tiles(m: Any, n: Any, tile: Tile) -> Any:
    """Tiles of a result."""
    return up(m, tile.m) * up(n, tile.n)


def tile_efficiency(m: Any, n: Any, tile: Tile) -> Any:
    """M N / (tiles tm tn): the part of the tiles that is the result."""
    return m * n / (tiles(m, n, tile) * (tile.m * tile.n))


def wave_efficiency(count: Any, slots: int) -> Any:
    return count / (up(count, slots) * slots)


def tiles_of(device: Device) -> tuple[Tile, ...]:
    """Tiles that a core can hold: twice its operands, and sums in registers."""
    registers = device.registers_bytes * device.lanes
    side = 16
    sides = []
    while side * side * _ACCUMULATOR_BYTES <= registers:
        sides.append(side)
        side *= 2
    found = [
        Tile(m, n, k)
        for m in sides
        for n in sides
        if max(m, n) <= _WIDEST_RATIO * min(m, n) and (k := _piece(device, m, n))
    ]
    return tuple(found) or (Tile(1, 1, 1),)


def _piece(device: Device, m: int, n: int) -> int:
    sums = m * n * _ACCUMULATOR_BYTES
    if sums > device.registers_bytes * device.lanes:
        return 0
    room = device.local_buffer_bytes // (2 * (m + n) * _WORD_BYTES)
    piece = 1 << max(room.bit_length() - 1, 0)
    return min(piece, _LONGEST_PIECE) if room >= 1 else 0


def seconds(device: Device, kernels: Kernels) -> Reals:
    """Seconds of kernels without their launch."""
    import numpy as np

    bytes = kernels.bytes.astype(np.float64)
    matrix = np.array([name in _MATRIX_CLASSES for name in kernels.op_classes])[kernels.op_class]
    of_type = np.array([device.matrix_rate(name) for name in kernels.dtypes])[kernels.dtype]
    rate = np.where(matrix, device.matrix_flops * of_type, device.vector_flops)
    longest: Reals = np.maximum(kernels.flops / rate, bytes / device.memory.bytes_per_s)
    product = np.flatnonzero(is_product(kernels))
    for at in range(0, len(product), _BLOCK):
        rows = product[at : at + _BLOCK]
        part = kernels.take(rows)
        arrays = part.flops / (device.matrix_flops * of_type[rows])
        traffic = part.bytes / device.memory.bytes_per_s
        longest[rows] = np.maximum(
            np.maximum(arrays, traffic), _products(device, part, of_type[rows])
        )
    return longest


def _products(device: Device, rows: Kernels, of_type: Reals) -> Reals:
    import numpy as np

    of = products_of(rows)
    best = np.full(len(rows), np.inf)
    for taken in _by_tile(device, of, rows.bytes / of.words, of_type):
        np.minimum(best, taken, out=best)
    return best


def _by_tile(device: Device, of: Products, word: Reals, of_type: Reals) -> Iterator[Reals]:
    import numpy as np

    m, n, k, batch = of
    far, near = device.memory.bytes_per_s, device.global_buffer.bytes_per_s
    least = m * k + k * n
    for tile in tiles_of(device):
        on_a_core = _tile_seconds(device, tile, k) / of_type
        count = batch * np.ceil(m / tile.m) * np.ceil(n / tile.n)
        waves = np.ceil(count / device.cores)
        side = float(tile.m + tile.n)
        busy = np.minimum(count, device.cores)
        one_wave = np.maximum(on_a_core, busy * side * k * word / near)
        pieces = busy * side * np.minimum(k, tile.k) * word / near  # before the first, and out
        out = busy * (tile.m * tile.n) * word / near
        panel = np.maximum(side * k * word, 1.0)
        grid = np.sqrt(np.maximum(device.global_buffer.size_bytes / 2 / panel, busy))
        again = k * m * n / grid * (1.0 / tile.n + 1.0 / tile.m)
        moved = batch * word * (np.maximum(again, least) + m * n)
        yield np.maximum(waves * one_wave + pieces + out, moved / far)


def _tile_seconds(device: Device, tile: Tile, k: Reals) -> Any:
    down = 1
    while down * down < device.lanes:
        down *= 2
    across = up(device.lanes, down)
    array = Array(device.array.rows, device.array.columns, "os")
    return cycles(up(tile.m, down), up(tile.n, across), k, array) / device.clock_hz
