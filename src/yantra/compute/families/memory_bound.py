"""Kernels that memory bounds, by kind: a launch, rows and bytes.

    time = launch + rows x per_row + bytes x per_byte

Least squares of relative error for a GPU and kind: fp32 tensors of 4,100 to 16,380 rows of 515 to
4,100 numbers. Rows count for norms and softmax if a trace has them. GPUs without a table scale the
A100's by bandwidth, as its kernels read as wide. Arithmetic counts where longer: at half of the
vector peak, or for a kernel that no trace names, maybe a product, at what large products reach
(0.75 to 0.85 of the peak on GPUs with tables).

The measured launch, from the host, is 15 us and more; hidden behind others, a kernel takes at least
the smallest product's time (2 to 5 us).

Also for unclaimed classes. No caching between kernels. Source: Lee et al., "NeuSight", ASPLOS 2025,
scripts/asplos/data (NOTICE).
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.compute.families.family import Family, within
from yantra.compute.families.gemm import fitted
from yantra.compute.families.machine import GPUS, SCALED, Gpu, Machine, table, with_table
from yantra.compute.families.surface import Reals, unpacked
from yantra.compute.model import Estimates, Kernels

LIKE = {"norm": "ln", "softmax": "softmax", "loss": "softmax", "routing": "softmax"}
"""The measured kind of an operator class; `ELSE` for others."""
ELSE = "add"
READS = {"add": 2, "mul": 2, "div": 2, "pow": 2}
"""Tensors that a measured kind reads, by default 1; all write one."""

_REFERENCE = "a100_pcie"
_VECTOR_SHARE = 0.5
_PRODUCT_SHARE = 0.8
_ERROR = {"ln": 0.15, "softmax": 0.22}
_OTHER_ERROR = 0.02
_OTHER_KIND = 0.15
_BYTES = 4


class Line(NamedTuple):
    """Microseconds of a launch, a row and a byte, on a GPU of some bandwidth."""

    launch: float
    row: float
    byte: float


def fit(rows: Reals, moved: Reals, us: Reals) -> Line:
    """The least squares of relative errors, none below 0."""
    use = [0, 1, 2]
    parts = np.stack([np.ones(len(us)), rows, moved], axis=1) / us[:, None]
    while True:
        made = np.linalg.lstsq(parts[:, use], np.ones(len(us)), rcond=None)[0]
        if (made >= 0).all():
            whole = dict(zip(use, made.tolist(), strict=True))
            return Line(whole.get(0, 0.0), whole.get(1, 0.0), whole.get(2, 0.0))
        use.pop(int(made.argmin()))


def measured(gpu: str, kind: str) -> tuple[Reals, Reals, Reals, Reals]:
    """Rows, columns, bytes and microseconds of a GPU's kernels of a kind."""
    arrays = table("memory_bound", gpu)
    own = arrays["kinds"][arrays["kind"]] == kind
    rows, columns = (arrays[name][own].astype(float) for name in ("rows", "columns"))
    moved = _BYTES * rows * columns * (READS.get(kind, 1) + 1)
    return rows, columns, moved, np.exp(unpacked(arrays["us"][own]))


@cache
def line(gpu: str, kind: str) -> Line:
    """The line of a GPU's kernels of a kind."""
    rows, _, moved, us = measured(gpu, kind)
    return fit(rows, moved, us)


def source_of(gpu: Gpu) -> Gpu:
    """The GPU whose table is taken."""
    return gpu if table("memory_bound", gpu.name) else GPUS[_REFERENCE]


def floor_us(gpu: Gpu) -> float:
    """The smallest 16-bit product's time on a GPU, behind others."""
    return float(fitted(with_table("gemm", gpu).name, "bf16").constants.launch_us)


def kernel_us(one: Line, rows: Any, moved: Any, ratio: float) -> Reals:
    """Microseconds with memory `ratio` times as fast as the table's."""
    made: Reals = one.launch + (one.row * rows + one.byte * moved) / ratio
    return made


class MemoryBound(Family):
    """Elementwise kernels, norms, softmax, lookups, permutations, optimizers and copies."""

    op_classes: ClassVar[tuple[str, ...]] = tuple(LIKE)
    subject = "memory-bound"

    def estimate(self, kernels: Kernels, machine: Machine) -> Estimates:
        """The line of each kind; see the base."""
        source = source_of(machine.gpu)
        ratio = machine.memory_bytes_per_s / source.memory_bytes_per_s
        middle = np.empty(len(kernels))
        error = np.empty(len(kernels))
        kinds = np.array([LIKE.get(name, ELSE) for name in kernels.op_classes])[kernels.op_class]
        for kind in np.unique(kinds):
            chosen = kinds == kind
            rows = _rows(kernels, chosen)
            one = line(source.name, str(kind))
            if not machine.alone:
                one = one._replace(launch=min(one.launch, floor_us(machine.gpu)))
            middle[chosen] = kernel_us(one, rows, kernels.bytes[chosen], ratio)
            error[chosen] = _ERROR.get(str(kind), _OTHER_ERROR)
        unnamed = np.array([not name for name in kernels.op_classes])[kernels.op_class]
        rate = np.where(unnamed, _PRODUCT_SHARE * machine.peak("bf16"), _vector_peak(machine))
        middle = np.maximum(middle, kernels.flops * (1e6 / rate))
        error += _OTHER_KIND + (0 if machine.is_own and source is machine.gpu else SCALED)
        return within(middle, error)


def _rows(kernels: Kernels, chosen: NDArray[np.bool_]) -> Any:
    return kernels.m[chosen]


def _vector_peak(machine: Machine) -> float:
    return _VECTOR_SHARE * machine.peaks.get("fp32", machine.peak("bf16") / 16)


PLUGIN = MemoryBound
