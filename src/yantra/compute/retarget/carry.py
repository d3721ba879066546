"""From a recorded time on one GPU to that on another.

    on B = law of B x (recorded on A / law of A)^carried

What a kernel takes beside its law is in part of its work, which another GPU has as well, and in
part of a library, which it has not. Carried shares are slopes of one GPU's logarithms over
another's: 0.26 of products, the mean over pairs of A100, H100 and B200 (16,500 shapes); 0.9 of
kernels that memory bounds, the correlation over ten pairs of A100, V100, P100, T4 and P4 (2,250
kernels; both NOTICE). Products carry the first for what rates bound, the second for launch and idle
units, which libraries cut further than the law does. Without operations and bytes the time beyond a
launch follows the rates.
"""

from __future__ import annotations

import numpy as np

from yantra.compute.model import Estimates, Kernels
from yantra.compute.retarget.gpus import Gpu
from yantra.compute.retarget.laws import KEPT, PRODUCTS, Reals, filled, launch_us, rate, times_us

CARRIED = dict.fromkeys((*PRODUCTS, "attention"), 0.26)
_CARRIED = 0.9
_ALIKE = ("gemm", "grouped_gemm")


def carried(kernels: Kernels, source: Gpu, target: Gpu) -> Estimates:
    """Times on `target` of kernels recorded on `source`, with 90 % intervals by class."""
    recorded = kernels.recorded_ns.astype(np.float64)
    if source == target:
        return Estimates.exact(recorded)
    low, middle, high = recorded.copy(), recorded.copy(), recorded.copy()
    codes = np.stack([kernels.op_class, kernels.dtype], axis=1)
    for op_code, type_code in np.unique(codes, axis=0):
        op_class, dtype = kernels.op_classes[op_code], kernels.dtypes[type_code]
        if op_class in KEPT:
            continue
        rows = (kernels.op_class == op_code) & (kernels.dtype == type_code)
        part = kernels.take(rows)
        made = _carried_us(part, recorded[rows] / 1e3, op_class, dtype, source, target) * 1e3
        wide = np.exp(error_of(op_class))
        low[rows], middle[rows], high[rows] = made / wide, made, made * wide
    return Estimates(low, middle, high)


def _carried_us(
    rows: Kernels, recorded: Reals, op_class: str, dtype: str, source: Gpu, target: Gpu
) -> Reals:
    there, here = (times_us(rows, op_class, dtype, gpu) for gpu in (source, target))
    known = (there > 0) & (here > 0) & (recorded > 0)
    share: float | Reals = CARRIED.get(op_class, _CARRIED)
    if op_class in _ALIKE:
        share = _CARRIED - (_CARRIED - share) * filled(rows, op_class, dtype, source)
    ratio = np.divide(recorded, there, out=np.ones_like(recorded), where=known)
    made = here * ratio**share
    return np.where(known, made, _by_rates(recorded, op_class, dtype, source, target))


def _by_rates(recorded: Reals, op_class: str, dtype: str, source: Gpu, target: Gpu) -> Reals:
    before, after = (launch_us(op_class, gpu) for gpu in (source, target))
    slower = rate(op_class, dtype, source) / rate(op_class, dtype, target)
    beyond = np.maximum(recorded - before, 0.0) * slower
    made: Reals = np.minimum(recorded / before, 1.0) * after + beyond
    return made


ERRORS = {"gemm": 0.3, "grouped_gemm": 0.6, "conv": 0.95, "attention": 0.7, "copy": 0.7,
          "reduction": 0.8, "embedding": 1.0}  # fmt: skip
_ERROR = 0.5
"""90 % half-widths, in logarithms, of a class in all.

From how far totals of a class in the recordings of `gpus` and `laws` are from their law: nine in
ten within 0.2 for products and 0.46 for what memory bounds on MI300X, most of it carried; copies
0.46 and on A100 0.6, reductions 0.8, lookups more. Products, copies and convolutions (three
recordings, Student's t) err on both GPUs, in quadrature; attention also by half its launch.
"""


def error_of(op_class: str) -> float:
    """The 90 % half-width of a class, in logarithms."""
    return ERRORS.get(op_class, _ERROR)


def summed(kernels: Kernels, made: Estimates) -> tuple[float, float, float, float]:
    """Nanoseconds of all kernels but delays: recorded, middle, low, high; a class errs together.

    Classes err apart, so their half-widths add in quadrature.
    """
    counts = kernels.count.astype(np.float64)
    sums = np.zeros(2)
    below = above = 0.0
    for code, op_class in enumerate(kernels.op_classes):
        rows = kernels.op_class == code
        if op_class == "delay" or not rows.any():
            continue
        times = (kernels.recorded_ns.astype(np.float64), made.middle, made.low, made.high)
        there, here, low, high = (float((one * counts)[rows].sum()) for one in times)
        sums += there, here
        below += (here - low) ** 2
        above += (high - here) ** 2
    return float(sums[0]), float(sums[1]), float(sums[1] - below**0.5), float(sums[1] + above**0.5)
