"""Kernels that memory bounds, by kind: a launch, rows and bytes.

    time = launch + rows x per_row + bytes x per_byte

GPUs without a table scale the A100's by bandwidth, slow ones (below 800 GB/s) the T4's.

Arithmetic counts where longer: at half of the vector peak, or for a kernel that no trace names,
maybe a product, at what large products reach (0.75 to 0.85 of the peak on GPUs with tables).

The measured launch, from the host, is 15 us and more; hidden behind others, a kernel takes at least
the smallest product's time (2 to 5 us).

Source: Lee et al., "NeuSight", ASPLOS 2025, scripts/asplos/data (NOTICE).
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from yantra.compute.families.family import Family, within
from yantra.compute.families.gemm import fitted
from yantra.compute.families.machine import GPUS, Gpu, Machine, table, with_table
from yantra.compute.families.surface import Reals, unpacked
from yantra.compute.model import Estimates, Kernels

LIKE = {"norm": "ln", "softmax": "softmax", "loss": "softmax", "routing": "softmax"}
"""The measured kind of an operator class; `ELSE` for others."""
ELSE = "add"
READS = {"add": 2, "mul": 2, "div": 2, "pow": 2}
"""Tensors that a measured kind reads, by default 1; all write one."""

_REFERENCE, _SLOW_REFERENCE = "a100_pcie", "t4"
_SLOW = 0.8e12
_VECTOR_SHARE = 0.5
_PRODUCT_SHARE = 0.8
_ERROR = {"ln": 0.1, "softmax": 0.15}
_ELSE_ERROR = 0.06
_SCALED = {"ln": 0.4, "softmax": 0.45}
_ELSE_SCALED = 0.12, 0.2
"""Added without a table, from GPUs left out in turn; above and below `_SLOW`."""
_OTHER_KIND = 0.1
_BINS = 12
_BYTES = 4
WIDTHS = {"fp64": 8, "fp32": 4, "tf32": 4, "fp8": 1, "int8": 1}
"""Bytes of a number of each type; of others 2."""


class Line(NamedTuple):
    """Microseconds of a launch, a row and a byte; `log_ratio` is measured / line at `columns`."""

    launch: float
    row: float
    byte: float
    columns: Reals = np.zeros(1)
    log_ratio: Reals = np.zeros(1)


def fit(rows: Reals, columns: Reals, moved: Reals, us: Reals) -> Line:
    one = _line_of(rows, moved, us)
    wrong = np.log(us / kernel_us(one, rows, columns, moved, 1.0))
    parts = np.array_split(np.argsort(columns), _BINS)
    at, made = (
        np.array([np.median(values[part]) for part in parts])
        for values in (np.log2(columns), wrong)
    )
    return one._replace(columns=at, log_ratio=made)


def _line_of(rows: Reals, moved: Reals, us: Reals) -> Line:
    use = [0, 1, 2]
    parts = np.stack([np.ones(len(us)), rows, moved], axis=1) / us[:, None]
    while True:
        made = np.linalg.lstsq(parts[:, use], np.ones(len(us)), rcond=None)[0]
        if (made >= 0).all():
            whole = dict(zip(use, made.tolist(), strict=True))
            return Line(whole.get(0, 0.0), whole.get(1, 0.0), whole.get(2, 0.0))
        use.pop(int(made.argmin()))


def measured(gpu: str, kind: str) -> tuple[Reals, Reals, Reals, Reals]:
    arrays = table("memory_bound", gpu)
    own = arrays["kinds"][arrays["kind"]] == kind
    rows, columns = (arrays[name][own].astype(float) for name in ("rows", "columns"))
    moved = _BYTES * rows * columns * (READS.get(kind, 1) + 1)
    return rows, columns, moved, np.exp(unpacked(arrays["us"][own]))


@cache
def line(gpu: str, kind: str) -> Line:
    """The line of a GPU's kernels of a kind."""
    return fit(*measured(gpu, kind))


def source_of(gpu: Gpu, memory_bytes_per_s: float) -> Gpu:
    """The GPU whose table is taken."""
    if table("memory_bound", gpu.name):
        return gpu
    return GPUS[_REFERENCE if memory_bytes_per_s >= _SLOW else _SLOW_REFERENCE]


def floor_us(gpu: Gpu) -> float:
    return float(fitted(with_table("gemm", gpu).name, "bf16").constants.launch_us)


def kernel_us(one: Line, rows: Any, columns: Any, moved: Any, ratio: float) -> Reals:
    """Microseconds with memory `ratio` times as fast as the table's; 0 columns: not known."""
    made: Reals = one.launch + (one.row * rows + one.byte * moved) / ratio
    error = np.interp(np.log2(np.maximum(columns, 1)), one.columns, one.log_ratio)
    return made * np.exp(np.where(columns > 0, error, 0.0))


class MemoryBound(Family):
    """Elementwise kernels, norms, softmax, lookups, permutations, optimizers and copies."""

    op_classes: ClassVar[tuple[str, ...]] = tuple(LIKE)
    subject = "memory-bound"

    def estimate(self, kernels: Kernels, machine: Machine) -> Estimates:
        """The line of each kind; see the base."""
        source = source_of(machine.gpu, machine.memory_bytes_per_s)
        ratio = machine.memory_bytes_per_s / source.memory_bytes_per_s
        middle = np.empty(len(kernels))
        error = np.empty(len(kernels))
        kinds = np.array([LIKE.get(name, ELSE) for name in kernels.op_classes])[kernels.op_class]
        is_own = machine.is_own and source is machine.gpu
        wide = np.array([WIDTHS.get(name, 2) for name in kernels.dtypes])[kernels.dtype]
        said = np.array([bool(name) for name in kernels.dtypes])[kernels.dtype]
        for kind in np.unique(kinds):
            chosen = kinds == kind
            rows, moved = kernels.m[chosen], kernels.bytes[chosen]
            one = line(source.name, str(kind))
            if not machine.alone:
                one = one._replace(launch=min(one.launch, floor_us(machine.gpu)))
            columns = moved / (2 * wide[chosen] * np.maximum(rows, 1))
            known = is_own and kind != ELSE
            columns = np.where((rows > 0) & said[chosen] & known, columns, 0.0)
            middle[chosen] = kernel_us(one, rows, columns, moved, ratio)
            other = _SCALED.get(str(kind), _ELSE_SCALED[machine.memory_bytes_per_s < _SLOW])
            error[chosen] = _ERROR.get(str(kind), _ELSE_ERROR) + (0 if is_own else other)
        unnamed = np.array([not name for name in kernels.op_classes])[kernels.op_class]
        rate = np.where(unnamed, _PRODUCT_SHARE * machine.peak("bf16"), _vector_peak(machine))
        middle = np.maximum(middle, kernels.flops * (1e6 / rate))
        error += np.where(unnamed | (wide != _BYTES), _OTHER_KIND, 0.0)
        return within(middle, error)


def _vector_peak(machine: Machine) -> float:
    return _VECTOR_SHARE * machine.peaks.get("fp32", machine.peak("bf16") / 16)


PLUGIN = MemoryBound
