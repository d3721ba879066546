"""Products of matrices: tiles and waves against bytes, corrected by measured products nearby.

    tiles(t) = ceil(m / t_m) ceil(n / t_n),  waves = ceil(tiles / units)
    arithmetic = min over t of waves x 2 t_m t_n (k + fill) / (peak share / units x taper(t))
    traffic    = (w m k + w n k + 2 m n) / (bandwidth x reach)
    time = (arithmetic^p + traffic^p)^(1/p) + launch

Six constants are fitted for a GPU and dtype; a surface over (log2 m, log2 n, log2 k) corrects them.

A weight's gradient is added to a tensor of `accumulated` bytes, read and written (8 bytes a weight
in fp32), `EXPOSED` of it unhidden. With `quantise` a kernel before each product in 8 or 4 bits
reads the left operand in 16 bits and writes it; for weights' gradients, which take operands by
columns, it writes each a second time, and types with one scale for the tensor read it once more for
the maximum. Both count with the gradient.

Sources: NVIDIA, "Matrix Multiplication Background User's Guide" (2023), section 4 (tiles and
waves); AIConfigurator's tables (NOTICE); NVIDIA, Transformer Engine user guide (2025), "FP8 current
scaling", "MXFP8", "NVFP4" (two layouts of an operand, and the pass for its maximum).
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.base.errors import ConfigError
from yantra.compute.families.family import Family, within
from yantra.compute.families.machine import GPUS, SCALED, Gpu, Machine, table
from yantra.compute.families.surface import (
    Reals,
    interpolated,
    matern,
    place_on,
    regressed,
    rising,
    unpacked,
)
from yantra.compute.model import Estimates, Kernels

TILES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64), (256, 64), (64, 256))
_LARGEST = 256 * 128

WIDTHS = {"bf16": 2.0, "fp8": 1.0, "fp8_block": 1.0, "nvfp4": 0.5625}
"""Bytes of an operand's element by table; nvfp4 has a scale of 8 bits for each 16."""

TABLES = {
    "bf16": "bf16", "fp16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block", "fp4": "nvfp4",
    "nvfp4": "nvfp4", "int8": "fp8", "tf32": "bf16", "fp32": "bf16", "fp64": "bf16",
}  # fmt: skip
"""A dtype's table: its own, or the most similar."""

_PEAKS = {"fp8_block": "fp8", "nvfp4": "fp4"}
_ALIKE = {"bf16": "bf16", "fp16": "bf16", "fp8": "fp8", "fp8_block": "fp8", "nvfp4": "fp4"}
_OTHER_TYPE = 0.2
_OCTAVE = 0.05
_MANY = 512
_COPY = 0.8
_CHUNK = 1 << 15
_BLOCK = 128.0
"""Columns of a block of `fp8_block`; kernels for whole blocks run fewer as that many."""


def kind_of(name: str) -> str:
    """The dtype whose peak bounds products of a table."""
    return _ALIKE[name]


EXPOSED = 0.6
"""Share of accumulation's traffic that takes time: of 0, 0.2, ... 1 the best for gradients of
weights, 10 % off for 24 grouped products and 8 % for 161 dense ones.
"""


def accumulation_us(kernels: Kernels, machine: Machine) -> Reals:
    """The time to read and write the tensor that a product is added to."""
    moved = 2.0 * kernels.accumulated.astype(np.float64)
    made: Reals = moved * (EXPOSED * 1e6 / machine.memory_bytes_per_s)
    return made


def with_stored_weights(
    middle: Reals, error: Reals, kernels: Kernels, dtype: str, machine: Machine
) -> tuple[Reals, Reals]:
    """Times with weights stored in fewer bits than they are multiplied in.

    Untabulated; times change as their bound does: arithmetic, or bytes with the stored weights
    (Frantar et al., "MARLIN", 2024, section 3.1).
    """
    is_stored = kernels.stored > 0
    if not is_stored.any():
        return middle, error
    m, n, k = (np.maximum(size, 1).astype(np.float64) for size in sides(kernels))
    experts = np.maximum(kernels.batch, 1) if "grouped_gemm" in kernels.op_classes else 1
    width = WIDTHS[TABLES[dtype]]
    wide = experts * n * k * width
    others = width * (m * k + m * n)
    arithmetic = 2 * m * n * k / machine.peak(_PEAKS.get(dtype, dtype))
    usual = np.maximum(arithmetic, (others + wide) / machine.memory_bytes_per_s)
    bound = np.maximum(arithmetic, (others + kernels.stored) / machine.memory_bytes_per_s)
    changed = np.where(is_stored, np.minimum(bound / usual, 1), 1)
    return middle * changed, error + np.where(is_stored, SCALED, 0)


class Constants(NamedTuple):
    """Fitted for a GPU and dtype: shares of its rates, launch, and how tiles fill."""

    share: float
    reach: float
    launch_us: float
    fill: float
    taper: float
    power: float


def formula_us(
    constants: Constants,
    m: Reals,
    n: Reals,
    k: Reals,
    *,
    peak: float,
    bandwidth: float,
    units: int,
    width: float,
) -> Reals:
    """The formula's microseconds; sizes broadcast, `width` is bytes of an operand."""
    best: Any = None
    depth = k + constants.fill
    for rows, columns in TILES:
        tiles = np.ceil(m * (1 / rows)) * np.ceil(n * (1 / columns))
        waves = np.ceil(tiles * (1 / units))
        taper = (rows * columns / _LARGEST) ** constants.taper
        cost = 2e6 * rows * columns * units / (peak * constants.share * taper)
        waves *= cost
        best = waves if best is None else np.minimum(best, waves)
    arithmetic = best * depth
    traffic = (width * k * (m + n) + 2 * m * n) * (1e6 / (bandwidth * constants.reach))
    both = np.maximum(arithmetic, traffic)
    less = np.minimum(arithmetic, traffic)
    ratio = np.divide(less, both, out=np.zeros_like(both), where=both > 0)
    made: Reals = both * (1 + ratio**constants.power) ** (1 / constants.power)
    return made + constants.launch_us


class Fitted(NamedTuple):
    """The smooth table of a GPU and dtype: grids over log2 of n, k and m.

    `error` holds for 90 % of products of other sides, below 512 rows and from there on.
    """

    constants: Constants
    n: Reals
    k: Reals
    m: Reals
    log_ratio: Reals
    error: Reals

    @property
    def usual(self) -> float:
        """The formula's usual error for many rows, on any device."""
        return float(np.median(self.log_ratio[..., self.m >= np.log2(_MANY)]))


def covariance(first: tuple[Reals, Reals], second: tuple[Reals, Reals]) -> Reals:
    """Covariance of the formula's errors for two lists of sides (n, k).

    Near sides err together, less so those of equal n or k; from cross-validation over sides
    (tools/kernel_tables.py).
    """
    apart_n = np.abs(first[0][:, None] - second[0][None])
    apart_k = np.abs(first[1][:, None] - second[1][None])
    both = matern(apart_n, 0.75) * matern(apart_k, 5.9)
    wide = matern(apart_n, 2.4) * matern(apart_k, 2.4)
    alone = 0.08 * matern(apart_n, 1.5) + 0.3 * matern(apart_k, 1.5)
    whole: Reals = both + 0.05 * wide + alone
    return whole


NOISE = 0.025
MOST = 0.08
"""Most by which logarithms of times move to rise with sizes."""


def smooth(gpu: Gpu, name: str, arrays: Any, chosen: NDArray[np.bool_] | None = None) -> Fitted:
    """The surface of a table; `chosen` are the sides it may use, all by default."""
    n, k, m = (arrays[key].astype(np.float64) for key in ("n", "k", "m"))
    logs = unpacked(arrays[f"us_{name}"])
    constants = Constants(*(float(value) for value in arrays[f"constants_{name}"]))
    formula = formula_us(
        constants, m[None], n[:, None], k[:, None],
        peak=gpu.peaks[_ALIKE[name]], bandwidth=gpu.memory_bytes_per_s, units=gpu.units,
        width=WIDTHS[name],
    )  # fmt: skip
    known = np.ones(len(n), bool) if chosen is None else chosen
    ratios = (logs - np.log(formula))[known]
    sides = np.log2(n[known]), np.log2(k[known])
    grid_n, grid_k = np.log2(np.unique(n)), np.log2(np.unique(k))
    wanted = tuple(part.reshape(-1) for part in np.meshgrid(grid_n, grid_k, indexing="ij"))
    made = regressed(ratios, covariance(sides, sides), covariance(wanted, sides), NOISE)
    at_grid = formula_us(
        constants, m[None, None], np.exp2(grid_n)[:, None, None], np.exp2(grid_k)[None, :, None],
        peak=gpu.peaks[_ALIKE[name]], bandwidth=gpu.memory_bytes_per_s, units=gpu.units,
        width=WIDTHS[name],
    )  # fmt: skip
    logs = made.reshape(at_grid.shape) + np.log(at_grid)
    grid = rising(logs, MOST) - np.log(at_grid)
    error = arrays.get(f"error_{name}", np.full(2, 0.15))
    return Fitted(constants, grid_n, grid_k, np.log2(m), grid, error)


@cache
def fitted(gpu: str, name: str) -> Fitted:
    """The surface of a GPU's table."""
    return smooth(GPUS[gpu], name, table("gemm", gpu))


def product_us(
    surface: Fitted, m: Reals, n: Reals, k: Reals, *, gpu: Gpu, machine: Machine, name: str,
    peak: float,
) -> tuple[Reals, Reals]:  # fmt: skip
    """Microseconds of products, and octaves outside the table."""
    formula = formula_us(
        surface.constants, m, n, k,
        peak=peak, bandwidth=machine.memory_bytes_per_s, units=gpu.units, width=WIDTHS[name],
    )  # fmt: skip
    places = [
        place_on(axis, np.log2(size))
        for axis, size in ((surface.n, n), (surface.k, k), (surface.m, m))
    ]
    beyond = places[0].beyond + places[1].beyond + places[2].beyond
    wrong = interpolated(surface.log_ratio, None, places)
    usual = surface.usual
    return formula * np.exp(usual + machine.likeness * (wrong - usual)), beyond


class Gemm(Family):
    """Dense products; a batch is one of as many rows."""

    op_classes: ClassVar[tuple[str, ...]] = ("gemm", "conv")
    subject = "GEMM"

    def estimate(self, kernels: Kernels, machine: Machine) -> Estimates:
        """Durations by dtype; see the base."""
        middle = np.empty(len(kernels))
        error = np.empty(len(kernels))
        for code in np.unique(kernels.dtype):
            rows = kernels.dtype == code
            part = kernels if rows.all() else kernels.take(rows)
            dtype = kernels.dtypes[int(code)] or "bf16"
            made = products(part, dtype, machine)
            middle[rows], error[rows] = with_stored_weights(*made, part, dtype, machine)
        return within(middle, error)

    def beyond(self, kernels: Kernels, machine: Machine) -> Reals:
        """Octaves outside the 16-bit table, whose edges all share."""
        gpu = machine.gpu if table("gemm", machine.gpu.name) else _with_table("bf16")
        arrays = table("gemm", gpu.name)
        made = np.zeros(len(kernels))
        for axis, size in zip(("m", "n", "k"), sides(kernels), strict=True):
            ends = np.log2(np.unique(arrays[axis].astype(np.float64)))
            made += place_on(ends, np.log2(np.maximum(size, 1))).beyond
        return made


def products(kernels: Kernels, dtype: str, machine: Machine) -> tuple[Reals, Reals]:
    """Microseconds and relative errors of products of one dtype."""
    middle = np.empty(len(kernels))
    error = np.empty(len(kernels))
    for start in range(0, len(kernels), _CHUNK):
        rows = slice(start, start + _CHUNK)
        middle[rows], error[rows] = _products(kernels.take(rows), dtype, machine)
    return middle, error


def _products(kernels: Kernels, dtype: str, machine: Machine) -> tuple[Reals, Reals]:
    if dtype not in TABLES:
        problem = f"no products of type {dtype}; expected one of {', '.join(TABLES)}"
        raise ConfigError("compute", problem)
    name = TABLES[dtype]
    peak = machine.peak(_PEAKS.get(dtype, dtype))
    gpu = machine.gpu
    has_own = f"us_{name}" in table("gemm", gpu.name)
    source = gpu if has_own else _with_table(name)
    surface = fitted(source.name, name)
    m, n, k = (np.maximum(size, 1).astype(np.float64) for size in sides(kernels))
    if name == "fp8_block":
        n = np.maximum(n, _BLOCK)
    middle, beyond = product_us(surface, m, n, k, gpu=gpu, machine=machine, name=name, peak=peak)
    error = np.where(m < _MANY, surface.error[0], surface.error[1]) + _OCTAVE * beyond
    if not machine.is_own or source is not gpu:
        error += SCALED
    if _ALIKE[name] != _PEAKS.get(dtype, dtype) and dtype != "fp16":
        error += _OTHER_TYPE
    middle += accumulation_us(kernels, machine)
    if machine.quantise and WIDTHS[name] < 2:
        moved = quantised_bytes(kernels, m, n, k, name)
        middle += moved * (1e6 / (machine.memory_bytes_per_s * _COPY))
    return middle, error


MAXIMUM = ("fp8", "nvfp4")
"""Tables of types with one scale for a tensor."""


def quantised_bytes(kernels: Kernels, m: Reals, n: Reals, k: Reals, name: str) -> Reals:
    """Bytes that kernels move to make operands for each product.

    By columns for gradients of weights (m x k by k x n, with k rows of operands), with the maximum;
    else by rows.
    """
    width = WIDTHS[name]
    is_wgrad = np.array([phase == "wgrad" for phase in kernels.phases])[kernels.phase]
    again = width + (2 if name in MAXIMUM else 0)
    made: Reals = np.where(is_wgrad, (m + n) * k * again, m * k * (2 + width))
    return made


def sides(kernels: Kernels) -> tuple[Any, Any, Any]:
    """M, n and k; of a batch, m is of all; without a shape, a cube's."""
    cube = np.rint(np.cbrt(kernels.flops / 2)).astype(np.int64)
    known = (kernels.m > 0) & (kernels.n > 0) & (kernels.k > 0)
    batch = np.maximum(kernels.batch, 1)
    return (
        np.where(known, kernels.m * batch, cube),
        np.where(known, kernels.n, cube),
        np.where(known, kernels.k, cube),
    )


def _with_table(name: str) -> Gpu:
    return next(gpu for gpu in GPUS.values() if f"us_{name}" in table("gemm", gpu.name))


PLUGIN = Gemm
