"""Products of matrices: tiles and waves against bytes, corrected by measured products nearby.

    tiles(t) = ceil(m / t_m) ceil(n / t_n),  waves = ceil(tiles / units)
    deep     = k / max(units / tiles, 1)^split + fill, each part at least 256
    arithmetic = min over t of waves x 2 t_m t_n deep / (peak share / units x taper(t))
    traffic    = (w m k + w n k + 2 m n) / (bandwidth x reach)
    time = (arithmetic^p + traffic^p)^(1/p) + launch

Share, reach and launch are fitted for a GPU and dtype, the rest for a dtype, as GPUs left out are
then 15 % off, not 26 (H200 from B200). A surface over (log2 m, log2 n, log2 k) corrects them.

With `quantise` a kernel before each product in 8 or 4 bits reads the left operand in 16 bits and
writes it; for weights' gradients, which take operands by columns, it writes each a second time, and
types with one scale for the tensor read it once more for the maximum.

Sources: NVIDIA, "Matrix Multiplication Background User's Guide" (2023), section 4 (tiles and
waves); AIConfigurator's tables (NOTICE); NVIDIA, Transformer Engine user guide (2025), "FP8 current
scaling", "MXFP8", "NVFP4" (two layouts of an operand, and the pass for its maximum).
"""

from __future__ import annotations

from functools import cache
from math import isinf
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.base.errors import ConfigError
from yantra.compute.families.family import Family, within
from yantra.compute.families.machine import GPUS, SCALED, Gpu, Machine, table
from yantra.compute.families.surface import (
    Place,
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
_SHALLOW = 256.0

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
_OCTAVE = 1.2
"""Error of an octave over that beside a measured product, of held-out ones."""
_MANY, _WIDE = 512, 1024
_NO_TABLE = 1.0
_HOST = 0.7  # what launches from the host differ by
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
    moved = 2.0 * kernels.accumulated.astype(np.float64)
    made: Reals = moved * (EXPOSED * 1e6 / machine.memory_bytes_per_s)
    return made


def with_stored_weights(
    middle: Reals, error: Reals, kernels: Kernels, dtype: str, machine: Machine
) -> tuple[Reals, Reals]:
    """Untabulated; times change as their bound does: arithmetic, or bytes with the stored weights
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
    """Shares of its rates and launch, fitted for a GPU and dtype; the others for a dtype."""

    share: float
    reach: float
    launch_us: float
    fill: float
    taper: float
    power: float
    split: float


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
    best: Any = None
    deepest = np.maximum(k * (1 / _SHALLOW), 1)
    for rows, columns in TILES:
        tiles = np.ceil(m * (1 / rows)) * np.ceil(n * (1 / columns))
        parts = np.clip(units / tiles, 1, deepest) ** constants.split
        taper = (rows * columns / _LARGEST) ** constants.taper
        cost = 2e6 * rows * columns * units / (peak * constants.share * taper)
        waves = np.ceil(tiles * (1 / units)) * cost * (k / parts + constants.fill)
        best = waves if best is None else np.minimum(best, waves)
    arithmetic = best
    traffic = (width * k * (m + n) + 2 * m * n) * (1e6 / (bandwidth * constants.reach))
    both = np.maximum(arithmetic, traffic)
    less = np.minimum(arithmetic, traffic)
    ratio = np.divide(less, both, out=np.zeros_like(both), where=both > 0)
    made: Reals = both * (1 + ratio**constants.power) ** (1 / constants.power)
    return made + constants.launch_us


class Fitted(NamedTuple):
    """The smooth table of a GPU and dtype: grids over log2 of n, k and m.

    `error` holds for 90 % of products beside measured ones, by `class_of`. `apart` has the octaves
    from n and k to the nearest measured.
    """

    constants: Constants
    n: Reals
    k: Reals
    m: Reals
    log_ratio: Reals
    error: Reals
    apart: Reals
    launched_us: float

    @property
    def usual(self) -> float:
        """The formula's usual error for many rows, on any device."""
        return float(np.median(self.log_ratio[..., self.m >= np.log2(_MANY)]))

    def places(self, m: Reals, n: Reals, k: Reals) -> list[Place]:
        return [
            place_on(*pair)
            for pair in ((self.n, np.log2(n)), (self.k, np.log2(k)), (self.m, np.log2(m)))
        ]

    def octaves(self, places: list[Place]) -> Reals:
        beyond = places[0].beyond + places[1].beyond + places[2].beyond
        return interpolated(self.apart, None, places[:2]) + beyond


def covariance(first: tuple[Reals, Reals], second: tuple[Reals, Reals]) -> Reals:
    """Near sides err together, less so those of equal n or k; from cross-validation over sides
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
    n, k, m = (arrays[key].astype(np.float64) for key in ("n", "k", "m"))
    logs = unpacked(arrays[f"us_{name}"])
    constants = Constants(*(float(value) for value in arrays[f"constants_{name}"]))
    formula = _formula_of(gpu, name, constants, m[None], n[:, None], k[:, None])
    known = np.ones(len(n), bool) if chosen is None else chosen
    launched = is_launched(name, n, k)
    launched_us = float(np.exp(np.nanmedian(logs[known & launched]))) if launched.any() else 0.0
    known = known & ~launched
    ratios = (logs - np.log(formula))[known]
    sides = np.log2(n[known]), np.log2(k[known])
    grid_n, grid_k = np.unique(sides[0]), np.unique(sides[1])
    wanted = tuple(part.reshape(-1) for part in np.meshgrid(grid_n, grid_k, indexing="ij"))
    made = regressed(ratios, covariance(sides, sides), covariance(wanted, sides), NOISE)
    at_grid = _formula_of(
        gpu, name, constants, m, np.exp2(grid_n)[:, None, None], np.exp2(grid_k)[None, :, None]
    )
    grid = rising(made.reshape(at_grid.shape) + np.log(at_grid), MOST) - np.log(at_grid)
    octaves = sum(np.abs(w[:, None] - of[None]) for w, of in zip(wanted, sides, strict=True))
    apart = np.asarray(octaves).min(axis=1).reshape(at_grid.shape[:2])
    error = arrays.get(f"error_{name}", np.full(CLASSES, 0.15))
    return Fitted(constants, grid_n, grid_k, np.log2(m), grid, error, apart, launched_us)


def is_launched(name: str, n: Reals, k: Reals) -> Any:
    return (np.minimum(n, k) < _BLOCK) & (name == "fp8_block")


CLASSES = 4


def stated_error(gpu: Gpu, name: str, octaves: Reals) -> Reals:
    arrays = table("gemm", gpu.name)
    n, k, m = (arrays[key].astype(np.float64) for key in ("n", "k", "m"))
    of = class_of(m[None], n[:, None], k[:, None])
    made: Reals = arrays[f"error_{name}"][of] * farther(octaves)
    return made


def class_of(m: Reals, n: Reals, k: Reals) -> Any:
    return (m >= _MANY) * 2 + (np.minimum(n, k) >= _WIDE)


def _formula_of(gpu: Gpu, name: str, constants: Constants, m: Reals, n: Reals, k: Reals) -> Reals:
    return formula_us(
        constants, m, n, k,
        peak=gpu.peaks[_ALIKE[name]], bandwidth=gpu.memory_bytes_per_s, units=gpu.units,
        width=WIDTHS[name],
    )  # fmt: skip


@cache
def fitted(gpu: str, name: str) -> Fitted:
    """The surface of a GPU's table."""
    return smooth(GPUS[gpu], name, table("gemm", gpu))


def product_us(
    surface: Fitted, m: Reals, n: Reals, k: Reals, *, gpu: Gpu, machine: Machine, name: str,
    peak: float,
) -> tuple[Reals, Reals]:  # fmt: skip
    """`peak` is the machine's by its data sheet."""
    kind = kind_of(name)
    if not isinf(peak) and kind in machine.peaks and not isinf(machine.peaks[kind]):
        peak = peak * (machine.rate(gpu, kind) / machine.peaks[kind])
    formula = formula_us(
        surface.constants, m, n, k,
        peak=peak, bandwidth=machine.memory_bytes_per_s, units=gpu.units, width=WIDTHS[name],
    )  # fmt: skip
    places = surface.places(m, n, k)
    wrong = interpolated(surface.log_ratio, None, places)
    usual = surface.usual
    made = formula * np.exp(usual + machine.likeness_of(gpu) * (wrong - usual))
    if surface.launched_us:
        made = np.where(is_launched(name, n, k), surface.launched_us + formula, made)
    return made, surface.octaves(places)


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

    def octaves(self, kernels: Kernels, machine: Machine) -> Reals:
        made = np.zeros(len(kernels))
        for code in np.unique(kernels.dtype):
            rows = kernels.dtype == code
            name = TABLES.get(kernels.dtypes[int(code)] or "bf16", "bf16")
            sizes = sizes_of(kernels.take(rows), name)
            surface = fitted((_known(name, machine) or [_with_table(name)])[0].name, name)
            of_sizes = surface.octaves(surface.places(*sizes))
            made[rows] = machine.octaves(kind_of(name)) + of_sizes
        return made

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
    m, n, k = sizes_of(kernels, name)
    middle, error = estimated(m, n, k, machine, name, machine.peak(_PEAKS.get(dtype, dtype)))
    if _ALIKE[name] != _PEAKS.get(dtype, dtype) and dtype != "fp16":
        error += _OTHER_TYPE
    middle += accumulation_us(kernels, machine)
    if machine.quantise and WIDTHS[name] < 2:
        moved = quantised_bytes(kernels, m, n, k, name)
        middle += moved * (1e6 / (machine.memory_bytes_per_s * _COPY))
    return middle, error


def estimated(
    m: Reals, n: Reals, k: Reals, machine: Machine, name: str, peak: float
) -> tuple[Reals, Reals]:
    known = _known(name, machine)
    found = known or [_with_table(name)]
    made = []
    for gpu in found:
        surface = fitted(gpu.name, name)
        units = gpu if known else machine.gpu
        us, apart = product_us(surface, m, n, k, gpu=units, machine=machine, name=name, peak=peak)
        thin = (m > np.exp2(surface.m[-1])) & (n < _WIDE)
        if thin.any():  # a library may compute the transpose
            turned, _ = product_us(
                surface, n[thin], m[thin], k[thin],
                gpu=units, machine=machine, name=name, peak=peak,
            )  # fmt: skip
            us[thin] = np.minimum(us[thin], turned)
        made.append(us)
    middle = made[0]
    if len(made) > 1:
        mean = np.exp(np.mean(np.log(made), axis=0))
        middle = np.where(is_launched(name, n, k), middle, mean)  # the host of the nearest
    scaled = SCALED * (machine.octaves(kind_of(name)) + (0 if known else _NO_TABLE))
    error = np.hypot(surface.error[class_of(m, n, k)] * farther(apart), scaled)
    return middle, np.where(is_launched(name, n, k), np.maximum(error, _HOST), error)


def farther(octaves: Reals) -> Reals:
    return 1.0 + _OCTAVE * octaves


def sizes_of(kernels: Kernels, name: str) -> tuple[Reals, Reals, Reals]:
    m, n, k = (np.maximum(size, 1).astype(np.float64) for size in sides(kernels))
    return m, np.maximum(n, _BLOCK) if name == "fp8_block" else n, k


MAXIMUM = ("fp8", "nvfp4")
"""Tables of types with one scale for a tensor."""


def quantised_bytes(kernels: Kernels, m: Reals, n: Reals, k: Reals, name: str) -> Reals:
    """Bytes that kernels move to make operands for each product."""
    width = WIDTHS[name]
    is_wgrad = np.array([phase == "wgrad" for phase in kernels.phases])[kernels.phase]
    again = width + (2 if name in MAXIMUM else 0)
    made: Reals = np.where(is_wgrad, (m + n) * k * again, m * k * (2 + width))
    return made


def sides(kernels: Kernels) -> tuple[Any, Any, Any]:
    """M, n and k; without a shape, a cube's."""
    cube = np.rint(np.cbrt(kernels.flops / 2)).astype(np.int64)
    known = (kernels.m > 0) & (kernels.n > 0) & (kernels.k > 0)
    batch = np.maximum(kernels.batch, 1)
    return (
        np.where(known, kernels.m * batch, cube),
        np.where(known, kernels.n, cube),
        np.where(known, kernels.k, cube),
    )


def _known(name: str, machine: Machine) -> list[Gpu]:
    return [gpu for gpu in machine.sources("gemm") if f"us_{name}" in table("gemm", gpu.name)]


def _with_table(name: str) -> Gpu:
    return next(gpu for gpu in GPUS.values() if f"us_{name}" in table("gemm", gpu.name))


PLUGIN = Gemm
